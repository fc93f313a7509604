#include "lib/analysis/report/setting_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/setting.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

// More panels than this say less than the table does.
constexpr size_t kMaxPanels = 24;
constexpr double kNarrowest = 400;

std::string PerSecond(const Setting& setting) {
  return absl::StrCat(setting.unit, "s per second");
}

Bar BarOf(const ReportCell& cell) {
  Bar bar;
  bar.text = cell.Text();
  bar.hover = cell.Story();
  if (cell.summary.has_value()) bar.estimate = cell.Throughput();
  return bar;
}

Figure BarFigure(BarChart chart, std::string id, std::string caption,
                 bool has_log) {
  Figure figure;
  figure.id = std::move(id);
  figure.caption = std::move(caption);
  figure.has_log = has_log;
  figure.draw = [chart](ScaleType scale, double width) {
    BarChart sized = chart;
    sized.scale = scale;
    sized.width = width;
    return DrawBarChart(sized);
  };
  return figure;
}

// Fastest median of a line; 0 when none ran.
double BestOf(const Setting& setting, size_t line) {
  double best = 0;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    const ReportCell* cell = setting.Find(line, i);
    if (cell != nullptr && cell->summary.has_value()) {
      best = std::max(best, cell->summary->median);
    }
  }
  return best;
}

std::string HeatText(const ReportCell& cell) {
  if (cell.summary.has_value()) return SignificantText(cell.summary->median);
  if (cell.status == "early_stopped") return cell.Text();
  return cell.status == "unsupported" ? "–" : cell.status;
}

// The points of the other axes at which a curve is drawn: the first of each.
bool IsAtFirst(const ReportCell& cell, const Setting& setting,
               const std::string& axis,
               const std::map<std::string, std::string>& first) {
  return std::all_of(setting.swept.begin(), setting.swept.end(),
                     [&](const std::string& other) {
                       return other == axis ||
                              Setting::AxisValue(cell, other) ==
                                  first.at(other);
                     });
}

LineChart CurvesOf(const Setting& setting, const std::string& transform,
                   const std::string& axis,
                   const std::map<std::string, std::string>& first) {
  LineChart chart;
  chart.x_title = axis;
  chart.y_title = PerSecond(setting);
  chart.colors = setting.colors;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    LineSeries series;
    series.name = setting.libraries[i];
    for (size_t line = 0; line < setting.lines.size(); ++line) {
      const ReportCell* cell = setting.Find(line, i);
      if (cell == nullptr || !cell->summary.has_value() ||
          setting.lines[line].transform != transform ||
          !IsAtFirst(*cell, setting, axis, first)) {
        continue;
      }
      double x = 0;
      if (!absl::SimpleAtod(Setting::AxisValue(*cell, axis), &x)) continue;
      series.points.push_back(
          {x, cell->Throughput(),
           absl::StrCat(cell->Story(), "\n", axis, " ", ShortNumberText(x))});
    }
    std::sort(series.points.begin(), series.points.end(),
              [](const auto& a, const auto& b) { return a.x < b.x; });
    chart.series.push_back(std::move(series));
  }
  return chart;
}

bool HasCurve(const LineChart& chart) {
  return std::any_of(
      chart.series.begin(), chart.series.end(),
      [](const auto& series) { return series.points.size() > 1; });
}

}  // namespace

absl::optional<Figure> BarsOf(const Setting& setting) {
  BarChart chart;
  chart.title = absl::StrCat("Throughput, ", setting.title);
  chart.axis_title = PerSecond(setting);
  chart.series = setting.libraries;
  chart.colors = setting.colors;
  bool any = false;
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    BarGroup group;
    group.name = setting.lines[line].Name();
    for (size_t i = 0; i < setting.libraries.size(); ++i) {
      const ReportCell* cell = setting.Find(line, i);
      group.bars.emplace_back(
          cell == nullptr ? absl::nullopt : absl::optional<Bar>(BarOf(*cell)));
      any |= cell != nullptr && cell->summary.has_value();
    }
    chart.groups.push_back(std::move(group));
  }
  if (!any) return absl::nullopt;
  return BarFigure(std::move(chart), absl::StrCat(setting.id, "-throughput"),
                   "Median throughput over runs; whiskers are 95% intervals "
                   "of the median, absent below three runs.",
                   /*has_log=*/true);
}

absl::optional<Figure> HeatMapOf(const Setting& setting) {
  if (setting.libraries.size() < 2 || setting.lines.size() < 2) {
    return absl::nullopt;
  }
  HeatMap map;
  map.title = absl::StrCat("Share of the fastest library, ", setting.title);
  map.low_text = "≤ 1% of the fastest";
  map.high_text = "the fastest";
  map.columns = setting.libraries;
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    const double best = BestOf(setting, line);
    map.rows.push_back(setting.lines[line].Name());
    std::vector<HeatCell> cells;
    for (size_t i = 0; i < setting.libraries.size(); ++i) {
      HeatCell heat;
      const ReportCell* cell = setting.Find(line, i);
      if (cell != nullptr) {
        heat.text = HeatText(*cell);
        heat.hover = cell->Story();
        if (cell->summary.has_value() && best > 0) {
          const double share = cell->summary->median / best;
          // Two decades: what is a hundred times slower is dark.
          heat.share = 1 + std::log10(std::max(share, 0.01)) / 2;
          absl::StrAppend(&heat.hover, "\n", PercentText(share),
                          " of the fastest");
        }
      }
      cells.push_back(std::move(heat));
    }
    map.cells.push_back(std::move(cells));
  }
  Figure figure;
  figure.id = absl::StrCat(setting.id, "-heat-map");
  figure.caption =
      "Each library against the fastest of its line, on a logarithmic colour "
      "scale; numbers are medians. Grey: not measured.";
  figure.draw = [map](ScaleType, double width) {
    HeatMap sized = map;
    sized.width = width;
    return DrawHeatMap(sized);
  };
  return figure;
}

absl::optional<Figure> OfLimitOf(const Setting& setting) {
  BarChart chart;
  chart.title = absl::StrCat("Share of the limit, ", setting.title);
  chart.axis_title = "% of what the machine could do";
  chart.series = setting.libraries;
  chart.colors = setting.colors;
  std::set<std::string> limits;
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    BarGroup group;
    group.name = setting.lines[line].Name();
    bool any = false;
    for (size_t i = 0; i < setting.libraries.size(); ++i) {
      const ReportCell* cell = setting.Find(line, i);
      if (cell == nullptr || !cell->of_limit.has_value()) {
        group.bars.emplace_back();
        continue;
      }
      Bar bar;
      bar.estimate = Estimate{100 * *cell->of_limit, absl::nullopt};
      bar.text = PercentText(*cell->of_limit);
      bar.hover = absl::StrCat(
          cell->Story(), "\n", bar.text, " of ", cell->example.limit().name(),
          ", ", SignificantText(cell->example.limit().throughput()), " ",
          setting.unit, "s/s");
      limits.insert(cell->example.limit().name());
      group.bars.emplace_back(std::move(bar));
      any = true;
    }
    if (any) chart.groups.push_back(std::move(group));
  }
  if (chart.groups.empty()) return absl::nullopt;
  return BarFigure(
      std::move(chart), absl::StrCat(setting.id, "-of-limit"),
      absl::StrCat("How much of the limit that was measured in the same run (",
                   absl::StrJoin(limits, ", "), ") is reached."),
      /*has_log=*/false);
}

std::vector<Figure> ScalingOf(const Setting& setting) {
  std::vector<Figure> figures;
  std::map<std::string, std::string> first;
  for (const std::string& axis : setting.swept) {
    first[axis] = Setting::AxisValue(*setting.cells.begin()->second, axis);
  }
  std::vector<std::string> transforms;
  for (const Setting::Line& line : setting.lines) {
    if (transforms.empty() || transforms.back() != line.transform) {
      transforms.push_back(line.transform);
    }
  }
  for (const std::string& axis : setting.swept) {
    for (const std::string& transform : transforms) {
      LineChart chart = CurvesOf(setting, transform, axis, first);
      if (!HasCurve(chart) || figures.size() == kMaxPanels) continue;
      chart.title = absl::StrCat(transform, transform.empty() ? "" : ", ",
                                 setting.title, " by ", axis);
      Figure figure;
      figure.id = absl::AsciiStrToLower(absl::StrCat(
          setting.id, "-by-", axis, transform.empty() ? "" : "-", transform));
      figure.caption = absl::StrCat(
          transform, transform.empty() ? "T" : ": t", "hroughput by `", axis,
          "`; bands are 95% intervals of the median.");
      figure.has_log = true;
      figure.draw = [chart](ScaleType scale, double width) {
        LineChart sized = chart;
        sized.y_scale = scale;
        sized.width = std::min(width, 620.0);
        sized.height = width < kNarrowest ? 260 : 300;
        return DrawLineChart(sized);
      };
      figures.push_back(std::move(figure));
    }
  }
  return figures;
}

}  // namespace feedrate
