// The modes of jobs that a program can measure, such as transforms or loaders.
//
// The run loop knows only these interfaces, so that a program links the modes
// that it measures and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/measure/measure_run.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"

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

  // Memory that the process will need for itself, approximately. Matters only
  // for jobs that take turns.
  virtual absl::StatusOr<int64_t> ExpectedMemory() { return 0; }
  // The same for a GPU's memory. 0 means none.
  virtual absl::StatusOr<int64_t> ExpectedGpuMemory() { return 0; }

  // Starts a process and makes it ready.
  virtual absl::Status Prepare() = 0;
  // Called in this order, after Prepare. By default nothing stops early, there
  // is no reference to compare with, and a run warms itself up.
  virtual absl::StatusOr<Preflight> LookAhead() { return Preflight(); }
  virtual absl::StatusOr<Equivalence> CheckEquivalence() {
    return Equivalence();
  }
  virtual absl::Status WarmUp() { return absl::OkStatus(); }
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
  // Whether jobs run in children of servers that have loaded the libraries.
  // Otherwise the mode starts programs itself. Its jobs then run one after the
  // other in the order of the list, and nothing is measured besides them: no
  // null job, no preflight, no copy speed of the machine.
  virtual bool UsesServers() const { return true; }
  // Whether a run starts with a job that measures the harness itself.
  virtual bool HasNullJob() const { return UsesServers(); }
  // For the progress line: what the jobs are, and what one of them is called.
  virtual std::string JobsTitle() const { return "transforms"; }
  virtual std::string JobTitle(const Job& job) const {
    return job.transform() + " " + job.library();
  }
  // Whether all such jobs take turns, so that the runs of a job are far apart.
  // Otherwise only those do that differ in their library alone.
  virtual bool SpreadsRuns(const Job& /*job*/) const { return false; }
  // Finds mistakes in the job's settings before anything starts.
  virtual absl::Status Check(const Catalogue& /*catalogue*/,
                             const Job& /*job*/) {
    return absl::OkStatus();
  }
  // Loads what the job reads, unless an earlier job has. Called for every job
  // before the first one is measured.
  virtual absl::Status LoadInput(const RunInputs& inputs, const Job& job) = 0;
  // `context`, `job` and `policy` outlive the result.
  virtual std::unique_ptr<JobWork> MakeWork(const RunContext& context,
                                            const Job& job,
                                            const JobPolicy& policy) = 0;
  // Audits the job instead of measuring it. Faults are part of the audit; fails
  // only if the run is to end.
  virtual absl::StatusOr<Audit> AuditJob(const RunContext& /*context*/,
                                         const Job& /*job*/,
                                         const JobPolicy& /*policy*/) {
    return absl::InvalidArgumentError(
        "only loaders are audited; name a config of mode pipeline");
  }
  // Called for each row before it is written. An error ends the run, and the
  // row is not written.
  virtual absl::Status FinishRow(const RunContext& /*context*/,
                                 const Job& /*job*/, Row* /*row*/) {
    return absl::OkStatus();
  }
  // A job that is not in the list and runs next, after the rows of `job`.
  virtual std::optional<Job> NextJob(const RunContext& /*context*/,
                                     const Job& /*job*/) {
    return std::nullopt;
  }
  // Called when all jobs have run.
  virtual absl::Status End() { return absl::OkStatus(); }
};

}  // namespace feedrate
