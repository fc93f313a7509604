// The answers of a child to each command: the protocol without the pipes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/machine/gpu.h"
#include "lib/media/corpus.h"
#include "lib/worker/message.h"

namespace feedrate {

// Outputs in a memory file that the runner opens through /proc. The file is
// gone with the object.
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  // Appends a copy, at a multiple of 64 bytes.
  absl::Status Append(const Output& output);

  // The position of each output.
  const OutputReply& contents() const { return contents_; }

 private:
  explicit OutputFile(int fd) { contents_.set_fd(fd); }

  OutputReply contents_;
  int64_t end_ = 0;
};

// One child: its input, an adapter, and the last transform or loader that was
// prepared.
class ChildSession {
 public:
  // Takes over `input_fd`, a corpus or a list of files, which is mapped or read
  // when it is first needed. `adapter` outlives the session.
  ChildSession(Adapter* adapter, int input_fd);
  ~ChildSession();
  ChildSession(const ChildSession&) = delete;
  ChildSession& operator=(const ChildSession&) = delete;

  // The answer to one line, with its newline. What the library cannot do, or
  // throws, becomes an answer too. InvalidArgument means the line is not a
  // command; the session cannot go on.
  absl::StatusOr<std::string> Answer(absl::string_view line);

 private:
  absl::StatusOr<std::string> Dispatch(const ChildCommand& command);
  absl::StatusOr<std::string> Prepare(const PrepareCommand& command);
  absl::Status PrepareTransform(const PrepareCommand& command);
  absl::Status PrepareLoader(const PrepareCommand& command);
  absl::Status PrepareDecoder(const PrepareCommand& command);
  absl::Status PrepareMixture(const PrepareCommand& command);
  absl::StatusOr<std::string> Time(const TimeCommand& command);
  absl::StatusOr<std::string> Epoch(const EpochCommand& command);
  absl::StatusOr<std::string> Stop();
  absl::StatusOr<std::string> ShowOutputs(const OutputCommand& command);
  absl::StatusOr<Output> OutputOf(int64_t index, uint64_t seed);
  absl::Status MapCorpus();
  void OpenClock();

  Adapter* adapter_;
  int input_fd_;
  std::optional<Corpus> corpus_;
  // What the loader reads. Declared before the loader, which must be destroyed
  // first.
  LoaderInput input_;
  std::vector<MixtureSource> sources_;
  int64_t num_items_ = 0;
  // At most one of these is set.
  std::unique_ptr<PreparedTransform> transform_;
  std::unique_ptr<PreparedLoader> loader_;
  // Clock of the device that the transform runs on; null where it has none.
  std::unique_ptr<GpuClock> clock_;
  // Outputs of the last answer, until the next command.
  std::optional<OutputFile> outputs_;
};

}  // namespace feedrate
