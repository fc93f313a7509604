// One epoch of a loader, timed. Every C++ loader goes through here, so that
// their numbers mean the same.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_TIME_EPOCH_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_TIME_EPOCH_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// The batches of one epoch. Destruction at any moment stops what runs.
class BatchStream {
 public:
  struct Batch {
    // 0: the epoch is over.
    int64_t items = 0;
    // Of the tensor that was delivered.
    int64_t bytes = 0;
  };

  virtual ~BatchStream() = default;

  // The next batch, ready for use until the one after it is asked for.
  virtual absl::StatusOr<Batch> Next() = 0;

  // Stops the workers (persistent ones may stay) and returns when they are
  // gone. Fills in what only the loader knows: stages, errors, errors_total.
  virtual absl::Status Finish(EpochReply* reply) = 0;
};

using StartEpoch =
    std::function<absl::StatusOr<std::unique_ptr<BatchStream>>()>;

// Starts the workers, takes all batches, plays the training step after each,
// and stops the workers: all of that is the epoch. A step sleeps, as a program
// does that waits for its accelerator. Fails as the stream does.
absl::StatusOr<EpochReply> TimeEpoch(const EpochCommand& command,
                                     const StartEpoch& start);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_TIME_EPOCH_H_
