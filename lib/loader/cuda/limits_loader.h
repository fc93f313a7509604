// A loader that loads nothing and tells what its device could do at best.
#ifndef FEEDRATE_LIB_LOADER_CUDA_LIMITS_LOADER_H_
#define FEEDRATE_LIB_LOADER_CUDA_LIMITS_LOADER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/base/status_macros.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// Measures within about so many seconds.
using MeasureLimits = std::function<absl::StatusOr<DeviceLimits>(double)>;

// Answers an epoch with `device_limits` and without items.
class LimitsLoader : public PreparedLoader {
 public:
  explicit LimitsLoader(MeasureLimits measure) : measure_(std::move(measure)) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    EpochReply reply;
    ASSIGN_OR_RETURN(reply.device_limits,
                     measure_(command.limit_s > 0 ? command.limit_s : kUsualS));
    return reply;
  }
  absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) override {
    return absl::UnimplementedError("limits have no outputs");
  }

 private:
  static constexpr double kUsualS = 0.6;
  const MeasureLimits measure_;
};

inline std::unique_ptr<PreparedLoader> MakeLimitsLoader(MeasureLimits measure) {
  return std::make_unique<LimitsLoader>(std::move(measure));
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_LIMITS_LOADER_H_
