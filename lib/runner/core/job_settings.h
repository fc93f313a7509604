// What a job's fields and settings mean: its kind, its policy, its GPU
// settings, and the command for its worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/records/job.pb.h"
#include "lib/worker/message.h"

namespace feedrate {

class Catalogue;
class MeasuringPolicy;
class Transform;

// Libraries that are not in the matrix: `null`, which does nothing, and
// `faulty`, which misbehaves on purpose. They know their transforms by name and
// get the job's settings as parameters.
bool IsTestLibrary(absl::string_view library);

// The transform of the job. NotFound names what is missing. A job that was
// planned with other parameters is an error too.
absl::StatusOr<const Transform*> TransformOfJob(const Catalogue& catalogue,
                                                const Job& job);

absl::StatusOr<PrepareCommand> PrepareCommandOfJob(const Catalogue& catalogue,
                                                   const Job& job);

struct GpuSettings {
  // Setting `l2`: whether the cache is filled with other data before each
  // sample.
  bool cold = true;
  // Setting `gpu_batch`: items per call. 0 means one by one.
  int64_t batch = 0;
};

// Whether the job's transforms run on a GPU.
bool OnGpu(const Job& job);

// InvalidArgument names an impossible value, or a setting that a CPU job cannot
// have.
absl::StatusOr<GpuSettings> GpuSettingsOf(const Job& job);

struct JobPolicy {
  // What one item is.
  std::string unit;
  PreflightPolicy preflight;
  WarmUpPolicy warm_up;
  ChunkPolicy chunk;
  // Used only on a GPU.
  GpuSettings gpu;
};

// The measuring policy of a job, whose own thresholds override the catalogue's.
// A `hang_s` above 0 replaces the policy's value.
absl::StatusOr<JobPolicy> JobPolicyOf(const Catalogue& catalogue,
                                      const Job& job, double hang_s);

NoisePolicy NoisePolicyOf(const MeasuringPolicy& policy);

// Whether the job is of the library `null`, which measures the harness itself.
// Its rows are not compared and have no limit.
bool IsNullJob(const Job& job);
// Whether the job measures a loader.
bool IsLoaderJob(const Job& job);
// Whether the job measures a mixture of data sets.
bool IsMixtureJob(const Job& job);

// Whether the job's data must be on this machine. False for the loaders that
// read objects of a store themselves, and for the null loader.
bool NeedsLocalData(const Catalogue& catalogue, const Job& job);

// The endings of the files that are items of the job, without dots.
std::vector<std::string> ItemEndings(const Catalogue& catalogue,
                                     const Job& job);

// A job of the library `null` on the data and under the settings of `job`.
// Every run has one.
Job NullJob(const Job& job);

}  // namespace feedrate
