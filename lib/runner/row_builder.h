// Rows out of jobs and what became of them.
#ifndef FEEDRATE_LIB_RUNNER_ROW_BUILDER_H_
#define FEEDRATE_LIB_RUNNER_ROW_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lib/measure/measure_run.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// What all rows of a run share.
struct RunIdentity {
  std::string run_id;
  std::string env_id;
  std::string machine_profile;
  // Name of the processor.
  std::string hardware;
  // Name of the first GPU. Empty: none.
  std::string gpu;
  int64_t gpu_memory_bytes = 0;
};

// A row with the job's fields and the run's, without an outcome. `unit` is what
// one item is.
Row RowOf(const Job& job, const RunIdentity& run, const std::string& unit);

// `failed`, `crashed`, `timeout` or `oom`: what an error of lib/worker means.
std::string StatusOfFailure(const absl::Status& failure);

// Fills in an outcome.
void SetFailure(const absl::Status& failure, Row* row);
void SetTiming(const RunResult& result, Row* row);

// The limit of rows that an engine of a GPU decodes for, and their label where
// the CPU decoded in its place.
inline constexpr char kEngineLimit[] = "nvdec";
inline constexpr char kCpuFallback[] = "cpu_fallback";

// What the machine could do at best, and the row's share of it.
void SetLimit(const std::string& name, double throughput, Row* row);
// Samples and their quantiles.
void SetSamples(const std::vector<double>& samples, Row* row);

// RFC 3339, UTC, with milliseconds.
std::string TimeText(absl::Time time);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_ROW_BUILDER_H_
