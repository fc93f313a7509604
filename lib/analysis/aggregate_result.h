// What aggregation is asked, and what it answers.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_RESULT_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_RESULT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

struct AggregateOptions {
  // Fields that tell groups apart, as in lib/analysis/field.h.
  std::vector<std::string> by = {"scenario", "mode",      "scope",
                                 "library",  "transform", "device"};
  // Rows to use, as in lib/analysis/filter.h. Empty: all.
  std::string where;
  // Fields of HeldFields() (lib/analysis/query.h) that a group may hold several
  // values of.
  std::vector<std::string> mix;
  // Reference of speed-ups. Empty: none.
  std::string relative_to;
  // Speed-ups also between rows that are not known to do the same work.
  bool any_work = false;
  // Standard deviation over mean above which a group is `unstable`.
  double unstable_cv = 0.15;
  // The text for early-stopped rows of a scenario and unit. Null: `slow`.
  std::function<std::string(const std::string& scenario,
                            const std::string& unit)>
      slow_marker;
  // Threads that read. 0: as many as there are processors.
  int threads = 0;
  // Gets each problem of a file as one line, place included. Null: nobody.
  std::function<void(const std::string&)> complain;
};

struct AggregateResult {
  // Sorted by the values of `by`, in their order; numbers as numbers.
  std::vector<Aggregate> aggregates;
  std::vector<MeanSpeedUp> means;
  // Rows read, and those that `where` let through.
  int64_t rows = 0;
  int64_t used = 0;
  // Rows that repeat a (job, run, attempt) of another row.
  int64_t duplicates = 0;
  int64_t broken_lines = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_AGGREGATE_RESULT_H_
