#include "lib/runner/row_builder.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lib/measure/measure_run.h"
#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"
#include "lib/stats/quantiles.h"

namespace feedrate {

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

Row RowOf(const Job& job, const RunIdentity& run, const std::string& unit) {
  Row row = RowOfJob(job);
  row.set_unit(unit);
  const bool on_gpu = job.device() == "cuda" && !run.gpu.empty() &&
                      job.hardware_class() != "host_cpu";
  row.set_hardware(on_gpu ? run.gpu : run.hardware);
  row.set_machine_profile(run.machine_profile);
  row.set_env_id(run.env_id);
  row.set_run_id(run.run_id);
  return row;
}

std::string StatusOfFailure(const absl::Status& failure) {
  switch (failure.code()) {
    case absl::StatusCode::kAborted:
      return "crashed";
    case absl::StatusCode::kDeadlineExceeded:
      return "timeout";
    case absl::StatusCode::kResourceExhausted:
      return "oom";
    default:
      return "failed";
  }
}

void SetFailure(const absl::Status& failure, Row* row) {
  row->set_status(StatusOfFailure(failure));
  row->set_reason(std::string(failure.message()));
}

void SetSamples(const std::vector<double>& samples, Row* row) {
  row->mutable_samples_s()->Assign(samples.begin(), samples.end());
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) return;
  row->set_p50_s(SortedQuantile(sorted, 0.5));
  row->set_p90_s(SortedQuantile(sorted, 0.9));
  row->set_p99_s(SortedQuantile(sorted, 0.99));
}

void SetLimit(const std::string& name, double throughput, Row* row) {
  row->mutable_limit()->set_name(name);
  row->mutable_limit()->set_throughput(throughput);
  if (throughput > 0) row->set_of_limit(row->throughput() / throughput);
}

void SetTiming(const RunResult& result, Row* row) {
  row->set_status("ok");
  row->set_elapsed_s(result.elapsed_s);
  row->set_items(result.timing.items);
  if (result.elapsed_s > 0) {
    row->set_throughput(static_cast<double>(result.timing.items) /
                        result.elapsed_s);
  }
  SetSamples(result.timing.samples_s, row);
  row->set_timed_unit(result.chunk == 1 ? "item" : "chunk");
  row->mutable_warnings()->Assign(result.warnings.begin(),
                                  result.warnings.end());
}

}  // namespace feedrate
