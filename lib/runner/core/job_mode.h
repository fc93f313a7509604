// The modes of jobs that a program can measure, such as transforms or loaders.
//
// The run loop knows only these interfaces, so that a program links the modes
// that it measures and nothing else.
#ifndef FEEDRATE_LIB_RUNNER_CORE_JOB_MODE_H_
#define FEEDRATE_LIB_RUNNER_CORE_JOB_MODE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/measure/measure_run.h"
#include "lib/records/records.pb.h"

namespace feedrate {

class Catalogue;
class InputCorpora;
class RemoteData;
struct JobPolicy;
struct RunContext;

// The measured process of one job. Fails as MeasuredChild does; after that it
// may be prepared again.
class JobWork {
 public:
  virtual ~JobWork() = default;

  // Memory that the process will need for itself, approximately.
  virtual absl::StatusOr<int64_t> ExpectedMemory() = 0;
  // The same for a GPU's memory. 0 means none.
  virtual absl::StatusOr<int64_t> ExpectedGpuMemory() { return 0; }

  // Starts a process and makes it ready.
  virtual absl::Status Prepare() = 0;
  // Called in this order, after Prepare.
  virtual absl::StatusOr<Preflight> LookAhead() = 0;
  virtual absl::StatusOr<Equivalence> CheckEquivalence() = 0;
  virtual absl::Status WarmUp() = 0;
  // One run. Sets what was measured in `row`, which is empty: status, timing,
  // memory, limits.
  virtual absl::Status Measure(int run_index, Row* row) = 0;

  // Whether the process runs.
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

// The data that the jobs of a run read. All pointers outlive the run.
struct RunInputs {
  const Catalogue& catalogue;
  // A folder, or `synthetic:…`. Empty means that the job's dataset id is used,
  // which must be synthetic.
  const std::string& dataset;
  // The store with the data set. Null means that the data is on this machine.
  RemoteData* const remote;
  InputCorpora* const corpora;
  // Shows how many of `what`, such as "images", are ready.
  const std::function<void(const std::string& what, int64_t done,
                           int64_t total)>
      progress;
};

// One kind of job: which jobs it covers, what they read, how they are measured.
// An object serves one run.
class JobMode {
 public:
  virtual ~JobMode() = default;

  virtual bool Covers(const Job& job) const = 0;
  // Finds mistakes in the job's settings before anything starts.
  virtual absl::Status Check(const Catalogue& /*catalogue*/,
                             const Job& /*job*/) const {
    return absl::OkStatus();
  }
  // Loads what the job reads, unless an earlier job has. Called for every job
  // before the first one is measured.
  virtual absl::Status LoadInput(const RunInputs& inputs, const Job& job) = 0;
  // `context`, `job` and `policy` outlive the result.
  virtual std::unique_ptr<JobWork> MakeWork(const RunContext& context,
                                            const Job& job,
                                            const JobPolicy& policy) = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_CORE_JOB_MODE_H_
