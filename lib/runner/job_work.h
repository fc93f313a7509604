// What differs between the modes of a job: how its measured process is made
// ready and timed. JobRun has what is the same for all.
#ifndef FEEDRATE_LIB_RUNNER_JOB_WORK_H_
#define FEEDRATE_LIB_RUNNER_JOB_WORK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/measure/measure_run.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// One job's measured process. Fails as MeasuredChild does; after that it may
// be prepared again.
class JobWork {
 public:
  virtual ~JobWork() = default;

  // Memory that the process will take of its own, roughly.
  virtual absl::StatusOr<int64_t> OwnBytes() = 0;
  // The same of a GPU's memory. 0: none.
  virtual absl::StatusOr<int64_t> GpuBytes() { return 0; }

  // Starts a process and makes it ready.
  virtual absl::Status Prepare() = 0;
  // In this order, after Prepare.
  virtual absl::StatusOr<Preflight> LookAhead() = 0;
  virtual absl::StatusOr<Equivalence> CheckEquivalence() = 0;
  virtual absl::Status WarmUp() = 0;
  // One run. Fills in what was measured: status, timing, memory, limits. `row`
  // has nothing else.
  virtual absl::Status Measure(int run_index, Row* row) = 0;

  // Whether there is a process that can be asked.
  virtual bool alive() const = 0;
  virtual void End() = 0;

  // What one sample covers, unless a row says otherwise.
  virtual std::string timed_unit() const = 0;
  // Empty before Prepare.
  const std::string& version() const { return version_; }
  const Dataset& dataset() const { return dataset_; }

 protected:
  std::string version_;
  Dataset dataset_;
};

// Seed of a run: runs differ in what they draw; libraries of one run do not.
inline uint64_t SeedOfRun(const Job& job, int run_index) {
  return static_cast<uint64_t>(job.seed()) * 1000003 + run_index;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_JOB_WORK_H_
