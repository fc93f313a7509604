// Input files: expands folders, and reads files and pipes as blocks of whole
// lines, from several threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// A block of an input. One thread owns and reuses it, so memory does not grow
// with the input.
struct LineBlock {
  // Whole lines; only the last line of an input may lack its newline.
  absl::string_view lines;
  size_t input = 0;
  // Index among the blocks of its input.
  int64_t number = 0;

  std::string buffer;
};

// Hands out the lines of all inputs, each line once. Threads read regular files
// at any offset in parallel, and take turns on pipes. Thread-safe.
class LineBlocks {
 public:
  // Large enough to make system calls cheap, small enough for the cache.
  static constexpr size_t kBlock = 1 << 17;

  // `paths` are files, or `-` for standard input. `padding` bytes after each
  // block are readable. NotFound if a file cannot be opened.
  static absl::StatusOr<LineBlocks> Open(std::vector<std::string> paths,
                                         size_t padding);
  LineBlocks(LineBlocks&& other) noexcept;

  // Fills `block` with the next block. False at the end, or after an error.
  bool Next(LineBlock* block);

  // The input's name for messages.
  const std::string& name(size_t input) const { return inputs_[input].name; }
  // Total size of all regular files.
  int64_t bytes() const { return bytes_; }
  bool has_streams() const { return !streams_.empty(); }
  // The first read error, if any.
  absl::Status status() const;

 private:
  struct Input {
    std::string path;
    std::string name;
    int64_t size = 0;
    // Index of its first block among the blocks of all files.
    int64_t first_block = 0;
  };

  LineBlocks() = default;
  bool ReadFileBlock(size_t input, int64_t number, LineBlock* block);
  bool ReadStreamBlock(LineBlock* block);
  void Fail(absl::Status status);

  size_t padding_ = 0;
  std::vector<Input> inputs_;
  // Indexes into `inputs_` of regular files, and of everything else.
  std::vector<size_t> files_;
  std::vector<size_t> streams_;
  int64_t bytes_ = 0;
  int64_t file_blocks_ = 0;
  std::atomic<int64_t> next_block_{0};

  // State of the stream being read.
  mutable std::mutex mutex_;
  size_t stream_ = 0;
  int fd_ = -1;
  int64_t stream_number_ = 0;
  // The start of a line whose end has not been read yet.
  std::string rest_;
  absl::Status status_;
};

// Replaces each folder in `paths` by the files below it whose names have one of
// `endings`, sorted. Keeps everything else, such as `-` or a pipe. NotFound if
// a folder has no such file.
absl::StatusOr<std::vector<std::string>> ExpandPaths(
    const std::vector<std::string>& paths,
    const std::vector<std::string>& endings);

// The command that prints the jobs to repeat with `reader` and measures them
// with `runner`, appending to the last of `paths`; for people.
std::string RerunCommand(const std::string& reader,
                         const std::vector<std::string>& paths,
                         const std::string& runner);

}  // namespace feedrate
