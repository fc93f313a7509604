// Files and pipes as blocks of whole lines, for several threads at once.
#ifndef FEEDRATE_LIB_ANALYSIS_LINE_BLOCKS_H_
#define FEEDRATE_LIB_ANALYSIS_LINE_BLOCKS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// A piece of an input. Owned and used again by one thread, so that the memory
// for reading does not grow with the input.
struct LineBlock {
  // Whole lines; the last one of an input may lack its newline.
  absl::string_view lines;
  size_t input = 0;
  // Place among the blocks of its input.
  int64_t number = 0;

  std::string buffer;
};

// Hands out the lines of all inputs, each line once. Regular files are read at
// any place by any thread; pipes in turns. Thread-safe.
class LineBlocks {
 public:
  // Large enough that system calls do not count, small enough for the cache.
  static constexpr size_t kBlock = 1 << 17;

  // Files, and `-` for standard input. Bytes behind a block that may be read:
  // `padding`. NotFound when a file cannot be opened.
  static absl::StatusOr<LineBlocks> Open(std::vector<std::string> paths,
                                         size_t padding);
  LineBlocks(LineBlocks&& other) noexcept;

  // Fills `block` with the next one. False at the end, or after an error.
  bool Next(LineBlock* block);

  // How an input is named in messages.
  const std::string& name(size_t input) const { return inputs_[input].name; }
  // Bytes of all regular files.
  int64_t bytes() const { return bytes_; }
  bool has_streams() const { return !streams_.empty(); }
  // The first error of reading, if any.
  absl::Status status() const;

 private:
  struct Input {
    std::string path;
    std::string name;
    int64_t size = 0;
    // Number of its first entry among all file blocks.
    int64_t first_block = 0;
  };

  LineBlocks() = default;
  bool ReadFileBlock(size_t input, int64_t number, LineBlock* block);
  bool ReadStreamBlock(LineBlock* block);
  void Fail(absl::Status status);

  size_t padding_ = 0;
  std::vector<Input> inputs_;
  // Indexes of regular files, and of everything else.
  std::vector<size_t> files_;
  std::vector<size_t> streams_;
  int64_t bytes_ = 0;
  int64_t file_blocks_ = 0;
  std::atomic<int64_t> next_block_{0};

  // The stream at hand.
  mutable std::mutex mutex_;
  size_t stream_ = 0;
  int fd_ = -1;
  int64_t stream_number_ = 0;
  // Start of a line whose end has not come yet.
  std::string rest_;
  absl::Status status_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_LINE_BLOCKS_H_
