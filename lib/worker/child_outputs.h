// Whether a child's answers hold what was asked for.
#ifndef FEEDRATE_LIB_WORKER_CHILD_OUTPUTS_H_
#define FEEDRATE_LIB_WORKER_CHILD_OUTPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/worker/message.h"

namespace feedrate {

// An output of the transform, copied out of the child.
struct ChildOutput {
  OutputItem info;
  std::string bytes;
};

// `reply` itself, or DataLoss when it has not one sample for each chunk of the
// calls that it says it made.
absl::StatusOr<TimeReply> CheckTimeReply(const TimeCommand& command,
                                         absl::StatusOr<TimeReply> reply);

// `reply` itself, or DataLoss when its numbers contradict each other or the
// command: a sample for each batch, no more items than were asked for, no time
// beyond the epoch's own.
absl::StatusOr<EpochReply> CheckEpochReply(const EpochCommand& command,
                                           absl::StatusOr<EpochReply> reply);

// Copies `wanted` outputs out of the memory file of process `pid`. DataLoss
// when they are not there, or their shapes do not fit their sizes.
absl::StatusOr<std::vector<ChildOutput>> CopyOutputs(int64_t pid, size_t wanted,
                                                     const OutputReply& reply);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_CHILD_OUTPUTS_H_
