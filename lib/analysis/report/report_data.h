// The data of a report: cells of rows that belong together, and settings, which
// are the tables of cells.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_input.h"
#include "lib/draw/charts.h"
#include "lib/records/row.pb.h"
#include "lib/stats/summary.h"
#include "lib/stats/winner.h"

namespace feedrate {

// The library that measures the harness alone. It does not compete.
inline constexpr char kNullLibrary[] = "null";

// The runs of one job on one machine, shown as one cell of a table.
struct ReportCell {
  // One of its rows. Its identity and settings are those of all rows.
  Row example;
  int runs = 0;
  // Items per second of the `ok` runs, in the order of run_index.
  std::vector<double> throughputs;
  // Summary of `throughputs`. Absent if no run is `ok`.
  absl::optional<Summary> summary;
  // The best status of its runs: ok, early_stopped, unsupported, else the last
  // failure; and the reason for it.
  std::string status;
  std::string reason;
  int failed_runs = 0;
  // Number of `ok` runs that were noisy, contended or throttled.
  int disturbed = 0;
  // Number of rows with each warning.
  std::map<std::string, int> warnings;
  std::set<std::string> labels;
  // Largest over its rows. Absent if not measured.
  absl::optional<double> rss_peak_bytes;
  absl::optional<double> gpu_peak_bytes;
  // Median over its rows. Absent if no row has a limit.
  absl::optional<double> of_limit;

  // The median with its interval. REQUIRES: `summary` is set.
  Estimate Throughput() const;
  bool IsUnstable() const;
  // How it takes part in a comparison; with `any_work`, as if its output were
  // that of the others. REQUIRES: `summary` is set.
  Contestant AsContestant(bool any_work) const;
  // The text of the cell, such as "1,234", "≤ 20" or "unsupported".
  std::string Text() const;
  // What a reader must know beside the number, in every table and chart:
  // outputs that are not known to be right, such as "output different", and
  // labels such as "per_sample_loop". Empty if there is nothing.
  std::string Remarks() const;
  // The text with the remarks in brackets, for charts.
  std::string TextWithRemarks() const;
  // All details in a few lines, for a tooltip.
  std::string Story() const;
};

// The library, or for a plain command of a duel its side: "A" or "B".
std::string LibraryOf(const Row& row);

// Workers, batch size and settings, such as "workers=2, batch_size=4,
// prefetch=4".
std::string SettingOf(const Row& row);

// Groups rows into cells, in a fixed order. Rows of one cell agree in
// everything that must not be mixed: job, machine profile, library version,
// data, exploratory, cold, side of a duel.
std::vector<ReportCell> CellsOf(const std::vector<Row>& rows);

// The interval of a statistic, ready to draw.
absl::optional<Whiskers> WhiskersOf(const absl::optional<Interval>& interval);

// Ratio of the medians a / b with its interval, if the runs give one. REQUIRES:
// both have a summary, and b's median is above 0.
Estimate RatioOf(const ReportCell& a, const ReportCell& b,
                 const Separation& separation);

// An id or the name of a file from foreign text: lower-case letters, digits,
// the characters of `also`, and `-` for anything else. Never empty, at most 80
// bytes.
std::string IdFrom(absl::string_view text, absl::string_view also = "");

// Adds `id` to `used`, with a number if it is there already. Numbers start at
// `first`; 0 means that the first has none.
std::string NewId(const std::string& id, int first,
                  std::set<std::string>* used);

// One table of a report: cells measured in the same way on one machine. Its
// lines are transforms, or transforms at each point of a sweep; its columns are
// libraries.
struct Setting {
  // The transform, and the point of the sweep, such as "workers=4, prefetch=2"
  // (empty without a sweep).
  struct Line {
    std::string transform;
    std::string point;

    std::string Name() const;
    bool operator==(const Line& other) const {
      return transform == other.transform && point == other.point;
    }
  };

  // Such as "image-rgb-micro-cpu". Unique among the settings of a report.
  std::string id;
  // Such as "image-rgb, memory_dataloader_augment, cpu".
  std::string title;
  // What all its cells have in common, as a sentence.
  std::string description;
  std::string mode;
  std::string unit;
  // The example row of its first cell.
  Row example;
  // Columns and lines, in the order of the report.
  std::vector<std::string> libraries;
  std::vector<Line> lines;
  // Color number of each column. A library has the same color in all settings
  // of a report.
  std::vector<int> colors;
  // Axes with more than one value, such as "workers".
  std::vector<std::string> swept;

  // Null if there is no such cell.
  const ReportCell* Find(size_t line, size_t library) const;
  // A cell's value on an axis, as text.
  static std::string AxisValue(const ReportCell& cell, const std::string& axis);

  std::map<std::pair<size_t, size_t>, const ReportCell*> cells;
};

// Groups cells into settings, in the order of a report: pipelines and similar
// modes first, micro last. Omits the `null` library. Keeps pointers into
// `cells`.
std::vector<Setting> SettingsOf(const std::vector<ReportCell>& cells);

// Draws `chart` with any width; for Figure::draw.
template <typename Chart>
std::function<Svg(ScaleType, double)> DrawnBy(Svg (*draw)(const Chart&),
                                              Chart chart) {
  return [draw, chart = std::move(chart)](ScaleType, double width) {
    Chart sized = chart;
    sized.width = width;
    return draw(sized);
  };
}

}  // namespace feedrate
