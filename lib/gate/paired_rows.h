// Rows of a duel, sorted into pairs.
#ifndef FEEDRATE_LIB_GATE_PAIRED_ROWS_H_
#define FEEDRATE_LIB_GATE_PAIRED_ROWS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/gate/run_time.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// One side of one pair. A run with several rows counts with their mean.
struct PairSide {
  double log_sum = 0;
  int rows = 0;
  int position = 0;
  double Log() const { return log_sum / rows; }
};

struct RunPair {
  PairSide a;
  PairSide b;
  int stage = 0;
  bool IsWhole() const { return a.rows > 0 && b.rows > 0; }
};

// All that a duel says about one job.
struct PairedJob {
  std::string job_id;
  std::string words;
  std::string machine_profile;
  // By the number of the pair.
  std::map<int, RunPair> pairs;
  // Statuses other than `ok`, by side, with the reason of the first.
  std::map<std::string, std::string> a_problems;
  std::map<std::string, std::string> b_problems;
  // Machine profiles that rows came from; more than one is no comparison.
  std::set<std::string> profiles;
  // A row, for its identity.
  Row row;

  // Logarithms of B over A of whole pairs, in order.
  std::vector<double> Differences() const;
  // Last stage of a whole pair.
  int LastStage() const;
  // exp of the mean logarithm of one side over whole pairs. 0 without one.
  double TypicalSeconds(bool side_b) const;
};

class PairedRows {
 public:
  explicit PairedRows(RunStatistic statistic) : statistic_(statistic) {}

  // Rows without `pair` are counted and passed over, those of library `null`
  // (what the harness itself costs) just passed over.
  void Add(const Row& row);
  void Add(const Duel& duel) { duel_ = duel; }

  // In the order of their first rows.
  const std::vector<PairedJob>& jobs() const { return jobs_; }
  const absl::optional<Duel>& duel() const { return duel_; }
  int64_t unpaired_rows() const { return unpaired_rows_; }

 private:
  RunStatistic statistic_;
  std::vector<PairedJob> jobs_;
  std::map<std::string, size_t> index_;
  absl::optional<Duel> duel_;
  int64_t unpaired_rows_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_PAIRED_ROWS_H_
