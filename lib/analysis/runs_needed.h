// How many more runs would tell close rivals apart.
#ifndef FEEDRATE_LIB_ANALYSIS_RUNS_NEEDED_H_
#define FEEDRATE_LIB_ANALYSIS_RUNS_NEEDED_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/field.h"
#include "lib/analysis/filter.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Numbers of runs that the paper tops up to: 3 give an interval at all, 5 a
// usable one, 10 and 20 are for close calls.
inline constexpr int64_t kRunLadder[] = {3, 5, 10, 20};

// Two groups of a block that stand next to each other by median and whose
// intervals overlap. Where one has none for want of runs, its spread is taken
// to be the most that is not called unstable, 15%: with one run each, rivals
// more than twice apart are no close call.
struct CloseCall {
  const Aggregate* faster = nullptr;
  const Aggregate* slower = nullptr;
  // The first number of the ladder that should separate them. 0: none does.
  int64_t runs = 0;
};

// Of aggregates with the field library in `by`. An interval of n runs is taken
// to be as wide as the groups' deviation makes it on average.
std::vector<CloseCall> CloseCalls(const std::vector<Aggregate>& aggregates);

// Which jobs the rows of a group come from, and which of their runs are done.
class JobsOfGroups {
 public:
  static absl::StatusOr<JobsOfGroups> Create(const std::vector<std::string>& by,
                                             const std::string& where);

  void Add(const Row& row);

  // The jobs of `calls` with the run indexes that are still missing; each job
  // once, in the order of the calls. `plan --existing` and every runner read
  // them.
  std::vector<Job> Missing(const std::vector<CloseCall>& calls) const;

 private:
  struct Known {
    Job job;
    std::set<int32_t> done;
    double duration_s = 0;
    int64_t rows = 0;
  };

  std::vector<Field> by_;
  Filter filter_;
  // By the group's key, then by job id.
  std::map<std::string, std::map<std::string, Known>> groups_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_RUNS_NEEDED_H_
