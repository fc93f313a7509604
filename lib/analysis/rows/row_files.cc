#include "lib/analysis/rows/row_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/records/attempts.h"
#include "lib/records/job.pb.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

// How far to read past a block to find the end of its last line: a long row.
constexpr size_t kFurther = 1 << 14;

absl::Status CannotRead(const std::string& name) {
  return absl::UnavailableError(
      absl::StrCat(name, ": cannot read: ", std::strerror(errno)));
}

// Reads up to `size` bytes at `offset`; fewer only at the end. -1 on error.
ssize_t ReadAt(int fd, char* out, size_t size, int64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got =
        pread(fd, out + done, size - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

LineBlocks::LineBlocks(LineBlocks&& other) noexcept
    : padding_(other.padding_),
      inputs_(std::move(other.inputs_)),
      files_(std::move(other.files_)),
      streams_(std::move(other.streams_)),
      bytes_(other.bytes_),
      file_blocks_(other.file_blocks_) {}

absl::StatusOr<LineBlocks> LineBlocks::Open(std::vector<std::string> paths,
                                            size_t padding) {
  LineBlocks blocks;
  blocks.padding_ = padding;
  for (std::string& path : paths) {
    Input input;
    input.path = std::move(path);
    input.name = input.path == "-" ? "standard input" : input.path;
    struct stat info;
    const bool found = input.path == "-" ? fstat(STDIN_FILENO, &info) == 0
                                         : stat(input.path.c_str(), &info) == 0;
    if (!found ||
        (input.path != "-" && access(input.path.c_str(), R_OK) != 0)) {
      return absl::NotFoundError(
          absl::StrCat(input.name, ": cannot open: ", std::strerror(errno)));
    }
    const size_t index = blocks.inputs_.size();
    // Standard input may be a file that another process has partly read.
    if (S_ISREG(info.st_mode) && input.path != "-") {
      input.size = info.st_size;
      input.first_block = blocks.file_blocks_;
      blocks.bytes_ += input.size;
      blocks.file_blocks_ += (input.size + static_cast<int64_t>(kBlock) - 1) /
                             static_cast<int64_t>(kBlock);
      blocks.files_.push_back(index);
    } else {
      blocks.streams_.push_back(index);
    }
    blocks.inputs_.push_back(std::move(input));
  }
  return blocks;
}

absl::Status LineBlocks::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

void LineBlocks::Fail(absl::Status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  status_.Update(std::move(status));
}

bool LineBlocks::Next(LineBlock* block) {
  const int64_t index = next_block_.fetch_add(1);
  if (index < file_blocks_) {
    // Finds the last file that starts at or before this block.
    const auto after = std::upper_bound(
        files_.begin(), files_.end(), index, [&](int64_t wanted, size_t file) {
          return wanted < inputs_[file].first_block;
        });
    const size_t input = *(after - 1);
    return ReadFileBlock(input, index - inputs_[input].first_block, block);
  }
  return ReadStreamBlock(block);
}

bool LineBlocks::ReadFileBlock(size_t input_index, int64_t number,
                               LineBlock* block) {
  const Input& input = inputs_[input_index];
  block->input = input_index;
  block->number = number;
  const int fd = open(input.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    Fail(CannotRead(input.name));
    return false;
  }
  // Starts one byte earlier, to see whether a line starts here: only after a
  // newline.
  const int64_t start = number * static_cast<int64_t>(kBlock);
  const int64_t from = std::max<int64_t>(0, start - 1);
  const size_t wanted = static_cast<size_t>(
      std::min(input.size, start + static_cast<int64_t>(kBlock)) - from);
  std::string& buffer = block->buffer;
  buffer.resize(std::max(buffer.size(), wanted + padding_));
  ssize_t got = ReadAt(fd, &buffer[0], wanted, from);
  size_t size = got < 0 ? 0 : static_cast<size_t>(got);
  size_t begin = 0;
  if (start > 0) {
    const void* newline = std::memchr(buffer.data(), '\n', size);
    begin = newline == nullptr
                ? size
                : static_cast<size_t>(static_cast<const char*>(newline) -
                                      buffer.data()) +
                      1;
  }
  // The newline at the end of the block belongs to this block, but the line
  // after it to the next.
  const bool has_start = begin < size;
  // The last line may end in a later block. A line that is much longer than a
  // block is read by the block that it starts in, and not by all others too.
  size_t end = size;
  for (size_t further = kFurther;
       got >= 0 && has_start && buffer[end - 1] != '\n'; further *= 2) {
    buffer.resize(std::max(buffer.size(), size + further + padding_));
    got = ReadAt(fd, &buffer[size], further, from + static_cast<int64_t>(size));
    if (got <= 0) break;
    const void* newline =
        std::memchr(&buffer[size], '\n', static_cast<size_t>(got));
    size += static_cast<size_t>(got);
    end = newline == nullptr
              ? size
              : static_cast<size_t>(static_cast<const char*>(newline) -
                                    buffer.data()) +
                    1;
  }
  absl::Status status = got < 0 ? CannotRead(input.name) : absl::OkStatus();
  if (start == 0) {
    status.Update(CheckNotCompressed(
        input.name, absl::string_view(buffer).substr(0, size)));
  }
  close(fd);
  if (!status.ok()) {
    Fail(std::move(status));
    return false;
  }
  block->lines = has_start
                     ? absl::string_view(buffer).substr(begin, end - begin)
                     : absl::string_view();
  return true;
}

bool LineBlocks::ReadStreamBlock(LineBlock* block) {
  std::lock_guard<std::mutex> lock(mutex_);
  while (stream_ < streams_.size() && status_.ok()) {
    const Input& input = inputs_[streams_[stream_]];
    if (fd_ < 0) {
      fd_ = input.path == "-" ? dup(STDIN_FILENO)
                              : open(input.path.c_str(), O_RDONLY | O_CLOEXEC);
      stream_number_ = 0;
    }
    status_.Update(fd_ < 0             ? CannotRead(input.name)
                   : input.path == "-" ? absl::OkStatus()
                                       : CheckHasEnd(input.name, fd_));
    if (!status_.ok()) return false;
    std::string& buffer = block->buffer;
    size_t size = rest_.size();
    buffer.resize(std::max(buffer.size(), size + kBlock + padding_));
    std::memcpy(&buffer[0], rest_.data(), size);
    rest_.clear();
    bool at_end = false;
    const char* last = nullptr;
    // Reads until the block is full and has a newline.
    while (size < kBlock || last == nullptr) {
      buffer.resize(std::max(buffer.size(), size + kBlock + padding_));
      const ssize_t got = read(fd_, &buffer[size], kBlock);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        status_.Update(CannotRead(input.name));
        return false;
      }
      at_end = got == 0;
      if (at_end) break;
      const void* newline =
          memrchr(&buffer[size], '\n', static_cast<size_t>(got));
      size += static_cast<size_t>(got);
      if (newline != nullptr) last = static_cast<const char*>(newline);
      if (last != nullptr && size >= kBlock) break;
    }
    size_t end = size;
    if (!at_end) {
      // The buffer may have moved, so `last` must be found again.
      last = static_cast<const char*>(memrchr(buffer.data(), '\n', size));
      end = static_cast<size_t>(last - buffer.data()) + 1;
      rest_.assign(buffer, end, size - end);
    } else {
      close(fd_);
      fd_ = -1;
      block->input = streams_[stream_];
      ++stream_;
    }
    if (!at_end) block->input = streams_[stream_];
    block->number = stream_number_++;
    if (block->number == 0) {
      status_.Update(CheckNotCompressed(
          input.name, absl::string_view(buffer).substr(0, end)));
    }
    if (!status_.ok()) return false;
    if (end == 0) continue;
    block->lines = absl::string_view(buffer).substr(0, end);
    return true;
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> ExpandPaths(
    const std::vector<std::string>& paths,
    const std::vector<std::string>& endings) {
  std::vector<std::string> expanded;
  for (const std::string& path : paths) {
    if (!IsFolder(path)) {
      expanded.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const std::string& ending : endings) {
      ASSIGN_OR_RETURN(const std::vector<std::string> files,
                       ListPlainFiles(path, ending));
      found.insert(found.end(), files.begin(), files.end());
    }
    if (found.empty()) {
      return absl::NotFoundError(absl::StrCat(path, ": no file that ends in ",
                                              absl::StrJoin(endings, " or "),
                                              " in this folder"));
    }
    std::sort(found.begin(), found.end());
    expanded.insert(expanded.end(), found.begin(), found.end());
  }
  return expanded;
}

namespace {

// Where the data set of a config is. Synthetic ones need no place.
std::string DatasetOf(const std::string& config) {
  const std::string field = "dataset: \"";
  const size_t at = config.find(field);
  if (at == std::string::npos) return "";
  const std::string place = config.substr(at + field.size());
  const std::string dataset = place.substr(0, place.find('"'));
  return absl::StartsWith(dataset, "synthetic")
             ? ""
             : FlagOf({"", absl::StrCat("--dataset=", dataset)}, "dataset");
}

// Flags of a run that jobs do not have: a row names its data set, not where it
// is.
std::string RunFlags(const Run& run) {
  const std::vector<std::string> command(run.command().begin(),
                                         run.command().end());
  std::string dataset = FlagOf(command, "dataset");
  if (dataset.empty()) dataset = DatasetOf(run.config());
  std::string flags = dataset.empty() ? "" : absl::StrCat(" ", dataset);
  if (absl::c_linear_search(command, "--cold")) flags += " --cold";
  const std::string peak = FlagOf(command, "peak_tflops");
  return peak.empty() ? flags : absl::StrCat(flags, " ", peak);
}

// Those that all runs of `program` in the files had, else nothing.
std::string CommonFlags(const std::vector<std::string>& paths,
                        const std::string& program) {
  const absl::StatusOr<std::vector<std::string>> files =
      ExpandPaths(paths, {".jsonl"});
  if (!files.ok()) return "";
  std::set<std::string> flags;
  Run run;
  RecordReader records(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "run") return absl::OkStatus();
        RETURN_IF_ERROR(json.Read(&run));
        if (!run.command().empty() && BaseName(run.command(0)) == program) {
          flags.insert(RunFlags(run));
        }
        return absl::OkStatus();
      },
      [](const std::string&) {});
  for (const std::string& file : *files) {
    if (!IsFile(file) || !records.ReadFile(file).ok()) return "";
  }
  return flags.size() == 1 ? *flags.begin() : "";
}

}  // namespace

std::string RerunCommand(const std::string& reader,
                         const std::vector<std::string>& paths,
                         const std::string& runner) {
  const bool is_stdin = paths.empty() || paths == std::vector<std::string>{"-"};
  std::string command = reader;
  std::string out = "rows.jsonl";
  for (const std::string& path :
       is_stdin ? std::vector<std::string>{out} : paths) {
    absl::StrAppend(&command, " ", ShellWord(path));
    out = IsFolder(path) ? JoinPath(path, "again.jsonl") : path;
  }
  const std::string flags = is_stdin ? "" : CommonFlags(paths, runner);
  return absl::StrCat(is_stdin ? "save the rows as rows.jsonl, then " : "",
                      "$ ", command, " | ", ProgramCommand(runner), " --jobs=-",
                      flags, " >> ", ShellWord(out));
}

}  // namespace feedrate
