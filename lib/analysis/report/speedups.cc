#include "lib/analysis/report/speedups.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/setting.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

bool Ran(const ReportCell* cell) {
  return cell != nullptr && cell->summary.has_value() &&
         cell->summary->median > 0;
}

absl::optional<size_t> ReferenceColumn(const Setting& setting,
                                       const std::string& wanted) {
  absl::optional<size_t> column;
  int most = 0;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    if (!wanted.empty()) {
      if (setting.libraries[i] == wanted) return i;
      continue;
    }
    int ran = 0;
    for (size_t line = 0; line < setting.lines.size(); ++line) {
      ran += Ran(setting.Find(line, i)) ? 1 : 0;
    }
    if (ran > most) {
      most = ran;
      column = i;
    }
  }
  return column;
}

Estimate MeanOf(const std::vector<LineSpeedUp>& lines) {
  std::vector<double> ratios;
  for (const LineSpeedUp& line : lines) ratios.push_back(line.ratio.value);
  return {GeometricMean(ratios), WhiskersOf(GeometricMeanInterval(ratios))};
}

}  // namespace

absl::optional<SpeedUps> SpeedUpsOf(const Setting& setting,
                                    const std::string& reference,
                                    bool any_work) {
  const absl::optional<size_t> column = ReferenceColumn(setting, reference);
  if (!column.has_value() || setting.libraries.size() < 2) {
    return absl::nullopt;
  }
  SpeedUps result;
  result.reference = setting.libraries[*column];
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    if (i == *column) continue;
    LibrarySpeedUps library;
    library.library = setting.libraries[i];
    library.column = i;
    for (size_t line = 0; line < setting.lines.size(); ++line) {
      const ReportCell* own = setting.Find(line, i);
      const ReportCell* base = setting.Find(line, *column);
      if (!Ran(own) || !Ran(base)) continue;
      if (!any_work && !(own->DoesTheWork() && base->DoesTheWork())) {
        ++result.left_out;
        continue;
      }
      library.lines.push_back(
          {setting.lines[line].Name(), RatioOf(*own, *base),
           absl::StrCat(own->Story(), "\n\nagainst\n", base->Story())});
    }
    if (library.lines.empty()) continue;
    library.mean = MeanOf(library.lines);
    result.libraries.push_back(std::move(library));
  }
  return result;
}

absl::optional<Figure> ForestOf(const Setting& setting,
                                const SpeedUps& speed_ups) {
  if (speed_ups.libraries.empty()) return absl::nullopt;
  ForestPlot plot;
  plot.title =
      absl::StrCat("Speed-up over ", speed_ups.reference, ", ", setting.title);
  plot.axis_title =
      absl::StrCat("throughput / throughput of ", speed_ups.reference);
  plot.below_text = "slower";
  plot.above_text = "faster";
  for (const LibrarySpeedUps& library : speed_ups.libraries) {
    ForestRow heading;
    heading.label = library.library;
    heading.is_heading = true;
    plot.rows.push_back(std::move(heading));
    for (const LineSpeedUp& line : library.lines) {
      ForestRow row;
      row.label = line.line;
      row.ratio = line.ratio;
      row.series = setting.colors[library.column];
      row.hover = line.hover;
      plot.rows.push_back(std::move(row));
    }
    if (library.lines.size() > 1) {
      ForestRow mean;
      mean.label = absl::StrCat("mean of ", library.lines.size());
      mean.ratio = library.mean;
      mean.series = setting.colors[library.column];
      mean.is_summary = true;
      plot.rows.push_back(std::move(mean));
    }
  }
  Figure figure;
  figure.id = absl::StrCat(setting.id, "-speed-up");
  figure.caption = absl::StrCat(
      "Ratio of medians to `", speed_ups.reference,
      "` with 95% intervals; the diamond is the geometric mean with its 95% "
      "interval over lines.");
  figure.draw = [plot](ScaleType, double width) {
    ForestPlot sized = plot;
    sized.width = width;
    return DrawForestPlot(sized);
  };
  return figure;
}

}  // namespace feedrate
