// A loader that does nothing: its rows are what the harness costs a batch.
#ifndef FEEDRATE_LIB_ADAPTERS_NULL_NULL_LOADER_H_
#define FEEDRATE_LIB_ADAPTERS_NULL_NULL_LOADER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// Delivers the same batch of zeros again and again. Reads nothing.
class NullLoader : public PreparedLoader {
 public:
  explicit NullLoader(const LoaderSpec& spec);

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override;
  // A tensor of zeros, which no one should compare.
  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override;

 private:
  const LoaderSpec spec_;
  // Made once, as a loader does that reuses its batches.
  const std::vector<float> batch_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_NULL_NULL_LOADER_H_
