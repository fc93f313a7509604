// The rows of a duel, sorted into pairs, with the time and the label of each.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/gate/gate_metrics.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// A label for people, such as `opencv HorizontalFlip` or `kornia Resize cuda
// batch_size=256`, that distinguishes the jobs of a suite. The label of a plain
// command is its name.
std::string JobLabel(const Row& row);

// Whether `pattern` matches all of `text`. `*` stands for any characters, `?`
// for one.
bool GlobMatches(absl::string_view pattern, absl::string_view text);

// Whether `wanted` selects this job: its id or a prefix of at least 4
// characters, or a pattern for its label. Empty selects every job.
bool IsWantedJob(absl::string_view wanted, absl::string_view job_id,
                 absl::string_view label);

// 0.1023 -> "102.3 ms".
std::string SecondsText(double seconds);

// Which number of a run is compared.
enum class RunStatistic {
  // The trimmed mean of the samples: what most of the work takes. The default.
  kTypical,
  // Total time divided by items.
  kTotal,
  // The 90th percentile of the samples: the tail.
  kP90,
};

// Parses "typical", "total" or "p90". Absent for any other name.
absl::optional<RunStatistic> ParseRunStatistic(const std::string& name);
const std::vector<std::string>& RunStatisticNames();

// Logarithm of the run's time in seconds. Uses the total if there are no
// samples. Absent when the row is not `ok` or has no time above 0.
absl::optional<double> RunLog(const Row& row, RunStatistic statistic);

// One side of a pair. Several rows of a run count with their mean.
struct PairSide {
  double log_sum = 0;
  int rows = 0;
  int position = 0;
  // Share of the time in which other processes used the GPU. Below 0: none did,
  // or the driver did not say.
  double gpu_others = -1;
  // Seconds by stage of the loader or part of the training step, per item or
  // step, summed over rows.
  std::map<std::string, double> parts_s;
  // Sum and number of the values of each metric, in the order of the choice.
  std::vector<std::pair<double, int>> metrics;
  double Log() const { return log_sum / rows; }
};

// A metric of both sides of a pair.
struct MetricPair {
  double a = 0;
  double b = 0;
  bool a_first = false;
};

struct RunPair {
  PairSide a;
  PairSide b;
  int stage = 0;
  bool IsWhole() const { return a.rows > 0 && b.rows > 0; }
  bool SharesGpu() const { return a.gpu_others >= 0 || b.gpu_others >= 0; }
};

// All rows of a duel about one job.
struct PairedJob {
  std::string job_id;
  // Name of the contest. Empty if the duel has one.
  std::string contest;
  std::string label;
  std::string machine_profile;
  // By pair number.
  std::map<int, RunPair> pairs;
  // Statuses other than `ok` of each side, with the first reason of each
  // status.
  std::map<std::string, std::string> a_problems;
  std::map<std::string, std::string> b_problems;
  // Machine profiles of the rows. More than one makes the job incomparable.
  std::set<std::string> profiles;
  // One of the rows, for the job's identity.
  Row row;

  // The complete pairs that count, in order. If other processes used the GPU
  // during less than half of them, those are left out: that does not depend on
  // the times.
  std::vector<const RunPair*> CountingPairs() const;
  // Logarithms of B's time over A's, for the pairs that count, in order.
  std::vector<double> Differences() const;
  // Last stage that has a complete pair.
  int LastStage() const;
  // Geometric mean of one side's times over the pairs that count. 0 if there
  // are none.
  double TypicalSeconds(bool side_b) const;
  // Values of the metric with this index in the choice, for pairs in which both
  // sides have it, in order.
  std::vector<MetricPair> MetricPairs(size_t metric) const;
};

class PairedRows {
 public:
  explicit PairedRows(RunStatistic statistic,
                      MetricChoice choice = DefaultMetricChoice())
      : statistic_(statistic), choice_(std::move(choice)) {}

  // Ignores rows without `pair`, and rows of the library `null`, which measure
  // the harness itself.
  void Add(const Row& row);
  void Add(const Duel& duel) { duel_ = duel; }
  void Add(const Control& control);

  // In the order of their first rows.
  const std::vector<PairedJob>& jobs() const { return jobs_; }
  const absl::optional<Duel>& duel() const { return duel_; }
  const MetricChoice& choice() const { return choice_; }
  // The controls, by name and contest. The label is the name.
  const std::vector<PairedJob>& controls() const { return controls_; }

 private:
  RunStatistic statistic_;
  MetricChoice choice_;
  std::vector<PairedJob> jobs_;
  // By contest and job.
  std::map<std::pair<std::string, std::string>, size_t> index_;
  std::vector<PairedJob> controls_;
  absl::optional<Duel> duel_;
};

}  // namespace feedrate
