#include "lib/runner/gpu_settings.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr char kL2[] = "l2";
constexpr char kBatch[] = "gpu_batch";
// More images than any GPU holds.
constexpr int64_t kMostItems = int64_t{1} << 20;

}  // namespace

bool OnGpu(const Job& job) {
  return job.mode() == "micro" && job.device() == "cuda" &&
         job.hardware_class() != "host_cpu";
}

absl::StatusOr<GpuSettings> GpuSettingsOf(const Job& job) {
  GpuSettings settings;
  const auto l2 = job.settings().find(kL2);
  const auto batch = job.settings().find(kBatch);
  const auto end = job.settings().end();
  if (!OnGpu(job)) {
    // Another mode may have settings of these names.
    if (job.mode() != "micro" || (l2 == end && batch == end)) return settings;
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), ": the settings ", kL2, " and ",
                     kBatch, " are for device cuda, not ", job.device()));
  }
  if (l2 != end) {
    if (l2->second != "cold" && l2->second != "hot") {
      return absl::InvalidArgumentError(absl::StrCat(
          kL2, "=", l2->second, " is not possible; use cold or hot"));
    }
    settings.cold = l2->second == "cold";
  }
  if (batch != end && (!absl::SimpleAtoi(batch->second, &settings.batch) ||
                       settings.batch < 1 || settings.batch > kMostItems)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kBatch, "=", batch->second,
                     " is not possible; use a number from 1 to ", kMostItems));
  }
  return settings;
}

}  // namespace feedrate
