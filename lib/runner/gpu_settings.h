// What a job says about its GPU.
#ifndef FEEDRATE_LIB_RUNNER_GPU_SETTINGS_H_
#define FEEDRATE_LIB_RUNNER_GPU_SETTINGS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct GpuSettings {
  // Setting `l2`: whether the cache is filled with other data before each
  // sample.
  bool cold = true;
  // Setting `gpu_batch`: items of one call. 0: each by itself.
  int64_t batch = 0;
};

// Whether the job's transforms run on a GPU.
bool OnGpu(const Job& job);

// InvalidArgument names a value that is not possible, and settings that a job
// for the CPU cannot have.
absl::StatusOr<GpuSettings> GpuSettingsOf(const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_GPU_SETTINGS_H_
