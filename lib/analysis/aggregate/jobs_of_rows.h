// The jobs to run again: those whose runs were disturbed, and those of groups
// that more runs would separate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/rows/filter.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {

// Two groups of a block that are neighbors by median, and that the data do not
// separate (lib/stats/winner.h).
struct CloseCall {
  const Aggregate* faster = nullptr;
  const Aggregate* slower = nullptr;
  // The first number of kRunLadder that should separate them. 0 if none does.
  int64_t runs = 0;
};

// REQUIRES: the aggregates have the field library in `by`.
std::vector<CloseCall> CloseCalls(const std::vector<Aggregate>& aggregates);

// The jobs that rows come from, and what became of their runs. `plan
// --existing` and every runner can read the jobs that it returns.
class JobsOfRows {
 public:
  static absl::StatusOr<JobsOfRows> Create(const std::string& where);

  void Add(const Row& row);
  // A run that comes before its rows. Jobs get from it what rows do not say.
  void AddRun(const Run& run);

  // The jobs of `calls` with the run indexes that are still missing. Each job
  // appears once, in the order of the calls. `by` are the fields of the groups.
  std::vector<Job> Missing(const std::vector<CloseCall>& calls,
                           const std::vector<std::string>& by) const;

  // The jobs with runs whose cleanest attempt is noisy, contended or throttled,
  // with only these runs, in the order of the rows.
  std::vector<Job> Disturbed() const;

  // The jobs that `wanted` selects (IsWantedJob), with all of their runs, to
  // repeat these. `problems` says which cannot be repeated from their rows
  // alone, and why.
  std::vector<Job> Again(const std::string& wanted,
                         std::vector<std::string>* problems) const;

 private:
  // The cleanest attempt at a run.
  struct KnownRun {
    int rank = 0;
    bool is_ok = false;
    bool is_disturbed = false;
  };
  struct Known {
    Row example;
    std::map<int32_t, KnownRun> runs;
    double duration_s = 0;
    int64_t rows = 0;
  };

  // The job with these runs, and what they should take.
  Job JobWithRuns(const Known& known, const std::vector<int32_t>& runs,
                  int of_runs) const;

  Filter filter_;
  // How runs were measured, by id.
  std::map<std::string, Execution> executions_;
  std::vector<Known> jobs_;
  // By job id.
  std::map<std::string, size_t> index_;
};

}  // namespace feedrate
