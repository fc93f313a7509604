// What a child answers to each command: the protocol without the pipes.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_CHILD_SESSION_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_CHILD_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/output_file.h"
#include "lib/machine/gpu.h"
#include "lib/media/corpus.h"
#include "lib/worker/message.h"

namespace feedrate {

// One child: its input, an adapter, and the transform or loader prepared last.
class ChildSession {
 public:
  // Takes over `input_fd`, a corpus or a list of files, which is mapped or read
  // when it is first needed. `adapter` outlives the session.
  ChildSession(Adapter* adapter, int input_fd);
  ~ChildSession();
  ChildSession(const ChildSession&) = delete;
  ChildSession& operator=(const ChildSession&) = delete;

  // The answer to one line, with its newline. What the library cannot do, or
  // throws, is an answer too. InvalidArgument when the line is no command:
  // whoever sends that cannot be talked with.
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
  // What the loader reads; before it, so that it is gone first.
  LoaderInput input_;
  std::vector<MixtureSource> sources_;
  int64_t num_items_ = 0;
  // One of them at most.
  std::unique_ptr<PreparedTransform> transform_;
  std::unique_ptr<PreparedLoader> loader_;
  // Of the device that the transform runs on; null where it has none.
  std::unique_ptr<GpuClock> clock_;
  // Of the last answer; gone with the next command.
  std::optional<OutputFile> outputs_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_CHILD_SESSION_H_
