// Runs of one piece of work on one set-up, as a report shows them.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_CELL_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_CELL_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/draw/charts.h"
#include "lib/records/records.pb.h"
#include "lib/stats/summary.h"

namespace feedrate {

// Above this spread over its runs a cell is called unstable, as in the public
// benchmark.
inline constexpr double kUnstableCv = 0.15;

struct ReportCell {
  // A row of it: its identity and settings hold for all of them.
  Row example;
  int runs = 0;
  // Items per second of the runs that are `ok`, in the order of run_index.
  std::vector<double> throughputs;
  // Of `throughputs`. Absent when no run is ok.
  absl::optional<Summary> summary;
  // The best that is known: ok, early_stopped, unsupported, else the last
  // failure; and its reason.
  std::string status;
  std::string reason;
  int failed_runs = 0;
  // How many of its rows carry each warning.
  std::map<std::string, int> warnings;
  std::set<std::string> labels;
  // Largest of its rows. Absent: not measured.
  absl::optional<double> rss_peak_bytes;
  absl::optional<double> gpu_peak_bytes;
  // Median of its rows. Absent: no row has a limit.
  absl::optional<double> of_limit;

  // The median with its interval. REQUIRES: `summary`.
  Estimate Throughput() const;
  bool IsUnstable() const;
  // Whether its output is what the transform means.
  bool DoesTheWork() const;
  // "1,234", "≤ 20", "unsupported".
  std::string Text() const;
  // Everything about it in a few lines.
  std::string Story() const;
};

// Cells in a fixed order. Rows are one cell when they agree in all that must
// not be mixed: job, machine profile, library version, data, exploratory,
// cold, side of a duel.
std::vector<ReportCell> CellsOf(const std::vector<Row>& rows);

// The interval of a statistic as something to draw.
absl::optional<Whiskers> WhiskersOf(const absl::optional<Interval>& interval);

// a / b with the interval that follows from theirs. REQUIRES: both have a
// summary, b's median is above 0.
Estimate RatioOf(const ReportCell& a, const ReportCell& b);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_CELL_H_
