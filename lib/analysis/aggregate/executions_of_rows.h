// Which executions of a program rows come from: on which day, on which machine,
// and what medians they had.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/filter.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

class ExecutionsOfRows {
 public:
  // InvalidArgument if the filter or the metric is wrong.
  static absl::StatusOr<ExecutionsOfRows> Create(
      const AggregateOptions& options);

  // The records of a file, in their order. An `env` holds for the runs after
  // it, until the next file.
  void StartFile() { host_.clear(); }
  void AddEnv(const Env& env) { host_ = env.host(); }
  void AddRun(const Run& run);
  void Add(const Row& row);

  // Sets `elsewhere` of all groups that it is known of. Returns a sentence for
  // people: what was repeated, or why nothing is known.
  std::string Fill(AggregateResult* result) const;

 private:
  struct Origin {
    std::string machine;
    std::string day;
  };
  // The cleanest attempt at a run.
  struct Attempt {
    int rank = 0;
    double value = 0;
  };
  struct Known {
    Row example;
    // By run id and run index.
    std::map<std::pair<std::string, int32_t>, Attempt> runs;
  };

  Filter filter_;
  Field metric_;
  std::string host_;
  // By run id.
  std::map<std::string, Origin> origins_;
  // By job, and what else may tell groups apart.
  std::map<std::string, Known> jobs_;
};

}  // namespace feedrate
