// Outputs in a memory file that the runner opens through /proc.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_OUTPUT_FILE_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_OUTPUT_FILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/worker/message.h"

namespace feedrate {

// A file of this process's own that is gone with the object.
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  // Appends a copy, at a multiple of 64 bytes.
  absl::Status Append(const Output& output);

  // Where everything is.
  const OutputReply& contents() const { return contents_; }

 private:
  explicit OutputFile(int fd) { contents_.fd = fd; }

  OutputReply contents_;
  int64_t end_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_OUTPUT_FILE_H_
