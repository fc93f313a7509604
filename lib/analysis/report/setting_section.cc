#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/sections.h"
#include "lib/analysis/report/speed_ups.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

// With more panels than this, the table is easier to read.
constexpr size_t kMaxPanels = 24;
constexpr double kNarrowest = 400;

std::string PerSecond(const Setting& setting) {
  return absl::StrCat(setting.unit, "s per second");
}

Bar BarOf(const ReportCell& cell) {
  Bar bar;
  bar.text = cell.TextWithRemarks();
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

// The fastest cell of a line; null if none ran.
const ReportCell* BestOf(const Setting& setting, size_t line) {
  const ReportCell* best = nullptr;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    const ReportCell* cell = setting.Find(line, i);
    if (cell == nullptr || !cell->summary.has_value()) continue;
    if (best == nullptr || cell->summary->median > best->summary->median) {
      best = cell;
    }
  }
  return best;
}

// The mark of a cell with remarks, for which a heat map has no room.
constexpr char kRemarkMark[] = "†";

std::string HeatText(const ReportCell* cell) {
  if (cell == nullptr) return "not run";
  if (cell->summary.has_value()) {
    return absl::StrCat(SignificantText(cell->summary->median),
                        cell->Remarks().empty() ? "" : kRemarkMark);
  }
  if (cell->status == "early_stopped") return cell->Text();
  return cell->status == "unsupported" ? "none" : cell->status;
}

// All remarks on cells of a setting, such as "pillow, Blur: output different".
std::string RemarksOf(const Setting& setting) {
  std::vector<std::string> remarks;
  for (const auto& [place, cell] : setting.cells) {
    const std::string one = cell->Remarks();
    if (one.empty()) continue;
    remarks.push_back(absl::StrCat(setting.libraries[place.second], ", ",
                                   setting.lines[place.first].Name(), ": ",
                                   one));
  }
  return absl::StrJoin(remarks, "; ");
}

// Line and column of a cell.
using Place = std::pair<size_t, size_t>;

// The cells that have the first cell's values on all axes but one, by that
// axis, and under "" those that have them on all. Each cell sets few of the
// axes, and there may be thousands of them.
std::map<std::string, std::vector<Place>> NearFirst(const Setting& setting) {
  const ReportCell& first = *setting.cells.begin()->second;
  const std::set<std::string> swept(setting.swept.begin(), setting.swept.end());
  std::map<std::string, std::vector<Place>> near;
  for (const auto& [place, cell] : setting.cells) {
    std::set<std::string> differ = {""};
    const auto compare = [&, cell = cell](const std::string& axis) {
      if (swept.count(axis) > 0 &&
          Setting::AxisValue(*cell, axis) != Setting::AxisValue(first, axis)) {
        differ.insert(axis);
      }
      return differ.size() <= 2;
    };
    const auto compare_name = [&](const auto& setting) {
      return compare(setting.first);
    };
    if (compare("num_items") && compare("batch_size") && compare("workers") &&
        absl::c_all_of(cell->example.settings(), compare_name) &&
        absl::c_all_of(first.example.settings(), compare_name)) {
      near[*differ.rbegin()].push_back(place);
    }
  }
  return near;
}

// The curves of `places` by library.
LineChart CurvesOf(const Setting& setting, const std::string& transform,
                   const std::string& axis, const std::vector<Place>& places) {
  LineChart chart;
  chart.x_title = axis;
  chart.y_title = PerSecond(setting);
  chart.colors = setting.colors;
  std::vector<std::set<std::string>> remarks(setting.libraries.size());
  chart.series.resize(setting.libraries.size());
  for (const auto& [line, column] : places) {
    const ReportCell* const cell = setting.Find(line, column);
    double x = 0;
    if (!cell->summary.has_value() ||
        setting.lines[line].transform != transform ||
        !absl::SimpleAtod(Setting::AxisValue(*cell, axis), &x) ||
        !std::isfinite(x)) {
      continue;
    }
    const std::string one = cell->Remarks();
    if (!one.empty()) remarks[column].insert(one);
    chart.series[column].points.push_back(
        {x, cell->Throughput(),
         absl::StrCat(cell->Story(), "\n", axis, " ", ShortNumberText(x))});
  }
  for (size_t i = 0; i < chart.series.size(); ++i) {
    LineSeries& series = chart.series[i];
    absl::c_sort(series.points,
                 [](const auto& a, const auto& b) { return a.x < b.x; });
    series.name = setting.libraries[i];
    if (!remarks[i].empty()) {
      absl::StrAppend(&series.name, " (", absl::StrJoin(remarks[i], "; "), ")");
    }
  }
  return chart;
}

// The values of the axes that are not drawn, such as " at batch_size=64".
std::string FixedText(const Setting& setting, const std::string& axis,
                      const std::map<std::string, std::string>& first) {
  std::vector<std::string> fixed;
  for (const std::string& other : setting.swept) {
    if (other == axis) continue;
    fixed.push_back(absl::StrCat("`", other, "=", first.at(other), "`"));
  }
  return fixed.empty() ? "" : absl::StrCat(" at ", absl::StrJoin(fixed, ", "));
}

bool HasCurve(const LineChart& chart) {
  return std::any_of(
      chart.series.begin(), chart.series.end(),
      [](const auto& series) { return series.points.size() > 1; });
}

// The functions below return no figure if there is nothing to draw. `setting`
// need not outlive the figures.

// Throughput with intervals, one line below the other.
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

// Each library's throughput as a share of the fastest in its line.
absl::optional<Figure> HeatMapOf(const Setting& setting) {
  if (setting.libraries.size() < 2 || setting.lines.size() < 2) {
    return absl::nullopt;
  }
  HeatMap map;
  map.title = absl::StrCat("Share of the highest median, ", setting.title);
  map.low_text = "≤ 1%";
  map.high_text = "100% of the highest median";
  map.columns = setting.libraries;
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    const ReportCell* const best = BestOf(setting, line);
    map.rows.push_back(setting.lines[line].Name());
    std::vector<HeatCell> cells;
    for (size_t i = 0; i < setting.libraries.size(); ++i) {
      HeatCell heat;
      const ReportCell* cell = setting.Find(line, i);
      heat.text = HeatText(cell);
      if (cell != nullptr) {
        heat.hover = cell->Story();
        if (cell->summary.has_value() && best->summary->median > 0) {
          const double share = cell->summary->median / best->summary->median;
          // The scale covers two decades: a hundred times slower is dark.
          heat.share = 1 + std::log10(std::max(share, 0.01)) / 2;
          absl::StrAppend(&heat.hover, "\n", PercentText(share),
                          " of the highest median of the line");
        }
      }
      cells.push_back(std::move(heat));
    }
    map.cells.push_back(std::move(cells));
  }
  Figure figure;
  figure.id = absl::StrCat(setting.id, "-heat-map");
  figure.caption =
      "Each library against the highest median of its line, on a logarithmic "
      "color scale; numbers are medians. Colors compare speeds, not work. "
      "Gray: "
      "not run, not supported (none) or failed.";
  const std::string remarks = RemarksOf(setting);
  if (!remarks.empty()) {
    absl::StrAppend(&figure.caption, " ", kRemarkMark, " ", remarks, ".");
  }
  figure.draw = DrawnBy(DrawHeatMap, std::move(map));
  return figure;
}

// Throughput as a share of the machine's limit.
absl::optional<Figure> OfLimitOf(const Setting& setting) {
  BarChart chart;
  chart.title = absl::StrCat("Share of the limit, ", setting.title);
  chart.axis_title = "% of the limit";
  chart.series = setting.libraries;
  chart.colors = setting.colors;
  std::set<std::string> limits;
  bool is_beyond = false;
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
      const std::string share = PercentText(*cell->of_limit);
      const std::string remarks = cell->Remarks();
      bar.text =
          remarks.empty() ? share : absl::StrCat(share, " (", remarks, ")");
      bar.hover = absl::StrCat(
          cell->Story(), "\n", share, " of ", cell->example.limit().name(),
          ", ", SignificantText(cell->example.limit().throughput()), " ",
          setting.unit, "s/s");
      limits.insert(cell->example.limit().name());
      is_beyond |= *cell->of_limit > 1;
      group.bars.emplace_back(std::move(bar));
      any = true;
    }
    if (any) chart.groups.push_back(std::move(group));
  }
  if (chart.groups.empty()) return absl::nullopt;
  return BarFigure(
      std::move(chart), absl::StrCat(setting.id, "-of-limit"),
      absl::StrCat("How much of the limit that was measured in the same run (",
                   absl::StrJoin(limits, ", "), ") is reached.",
                   is_beyond ? " Above 100% the limit is too low: it is only a "
                               "reference."
                             : ""),
      /*has_log=*/false);
}

// One figure per numeric swept axis and transform, with the other axes at their
// first value.
std::vector<Figure> ScalingOf(const Setting& setting) {
  std::vector<Figure> figures;
  std::set<std::string> ids;
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
  const std::map<std::string, std::vector<Place>> near = NearFirst(setting);
  for (const std::string& axis : setting.swept) {
    const auto others = near.find(axis);
    if (others == near.end()) continue;
    std::vector<Place> places = near.at("");
    places.insert(places.end(), others->second.begin(), others->second.end());
    for (const std::string& transform : transforms) {
      if (figures.size() == kMaxPanels) return figures;
      LineChart chart = CurvesOf(setting, transform, axis, places);
      if (!HasCurve(chart)) continue;
      const std::string fixed = FixedText(setting, axis, first);
      chart.title = absl::StrCat(transform, transform.empty() ? "" : ", ",
                                 setting.title, " by ", axis, fixed);
      Figure figure;
      const std::string name =
          IdFrom(absl::StrCat("by ", axis, " ", transform), "_");
      figure.id = NewId(absl::StrCat(setting.id, "-", name), 0, &ids);
      figure.caption = absl::StrCat(transform, transform.empty() ? "T" : ": t",
                                    "hroughput by `", axis, "`", fixed,
                                    ". Bands are 95% intervals of the median.");
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

// The forest plot of the speed-ups. None if there is no ratio.
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
      if (!line.tied.empty()) row.text = "tied";
      row.series = setting.colors[library.column];
      row.hover = line.hover;
      plot.rows.push_back(std::move(row));
    }
    // One ratio has no mean, and two have no interval.
    if (library.lines.size() > 2) {
      ForestRow mean;
      mean.label = absl::StrCat("mean of ", library.lines.size());
      mean.ratio = library.mean;
      if (!library.is_separate) mean.text = "unclear";
      mean.series = setting.colors[library.column];
      mean.is_summary = true;
      plot.rows.push_back(std::move(mean));
    }
  }
  Figure figure;
  figure.id = absl::StrCat(setting.id, "-speed-up");
  figure.caption = absl::StrCat(
      "Ratio of medians to `", speed_ups.reference,
      "` with 95% intervals; tied: the interval includes 1. The diamond is the "
      "geometric mean with its 95% interval over lines.");
  figure.draw = DrawnBy(DrawForestPlot, std::move(plot));
  return figure;
}

DocumentCell CellOf(const ReportCell* cell, bool wins) {
  if (cell == nullptr) return NotMeasured();
  DocumentCell result(cell->Text());
  result.hover = cell->Story();
  if (!cell->summary.has_value()) {
    result.is_muted = true;
    return result;
  }
  const Summary& summary = *cell->summary;
  result.value = summary.median;
  result.is_best = wins;
  if (summary.interval.has_value()) {
    result.detail =
        absl::StrCat("[", SignificantText(summary.interval->low), ", ",
                     SignificantText(summary.interval->high), "]");
  }
  if (cell->IsUnstable()) result.detail += " unstable";
  result.remark = cell->Remarks();
  return result;
}

template <typename MaybeFigure>
void AddFigure(MaybeFigure figure, Section* section) {
  if (figure.has_value()) section->blocks.emplace_back(*std::move(figure));
}

void AddSpeedUps(const Setting& setting, const SpeedUpOptions& options,
                 Section* section) {
  const absl::optional<SpeedUps> speed_ups =
      SpeedUpsOf(setting, options.relative_to, options.any_work);
  if (!speed_ups.has_value()) return;
  AddFigure(ForestOf(setting, *speed_ups), section);
  if (speed_ups->without_evidence > 0) {
    section->blocks.emplace_back(Paragraph{absl::StrCat(
        speed_ups->without_evidence,
        speed_ups->without_evidence == 1 ? " ratio is" : " ratios are",
        " not drawn: fewer than two runs, or disturbed runs, are no "
        "evidence.")});
  }
  if (speed_ups->left_out == 0) return;
  Paragraph note;
  note.text = absl::StrCat(
      speed_ups->left_out,
      speed_ups->left_out == 1 ? " ratio is" : " ratios are",
      " not drawn: the outputs are not known to be the same, so speed would "
      "be compared between different work. `--any-work` draws them.");
  section->blocks.emplace_back(std::move(note));
}

// Number of disturbed runs in a line, such as "2 of 15".
DocumentCell NoiseOf(const Setting& setting, size_t line) {
  int disturbed = 0;
  int64_t runs = 0;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    const ReportCell* const cell = setting.Find(line, i);
    if (cell == nullptr || !cell->summary.has_value()) continue;
    disturbed += cell->disturbed;
    runs += cell->summary->n;
  }
  DocumentCell noise(absl::StrCat(disturbed, " of ", runs));
  noise.value = disturbed;
  return noise;
}

// The table of median throughputs. In each line, the winner is bold.
DocumentTable TableOf(const Setting& setting, bool any_work) {
  DocumentTable table;
  const bool is_contest = setting.libraries.size() > 1;
  table.caption = absl::StrCat(
      "Median ", setting.unit,
      "s per second, with 95% intervals from three runs on.",
      is_contest ? " Bold: faster than every other library of its line that "
                   "does the same work, by the interval of the ratio."
                 : "");
  const bool has_points = !setting.swept.empty();
  const bool has_transforms = std::any_of(
      setting.lines.begin(), setting.lines.end(),
      [](const Setting::Line& line) { return !line.transform.empty(); });
  if (has_transforms || !has_points) {
    table.header.push_back(has_transforms ? "transform" : "mode");
    table.align.push_back(Align::kLeft);
  }
  if (has_points) {
    table.header.push_back("setting");
    table.align.push_back(Align::kLeft);
  }
  for (const std::string& library : setting.libraries) {
    table.header.push_back(library);
    table.align.push_back(Align::kRight);
  }
  if (is_contest) {
    table.header.push_back("fastest");
    table.align.push_back(Align::kLeft);
  }
  table.header.push_back("noisy runs");
  table.align.push_back(Align::kRight);
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    const std::string& transform = setting.lines[line].transform;
    std::vector<DocumentCell> row;
    if (has_transforms || !has_points) {
      row.emplace_back(!has_transforms     ? setting.mode
                       : transform.empty() ? "none"
                                           : transform);
    }
    if (has_points) row.emplace_back(setting.lines[line].point);
    const LineResult result = ResultOf(setting, line, any_work);
    for (size_t i = 0; i < setting.libraries.size(); ++i) {
      row.push_back(CellOf(setting.Find(line, i), result.standings[i].wins));
    }
    if (is_contest) {
      row.emplace_back(result.text);
      row.back().is_muted = !result.winner.has_value();
    }
    row.push_back(NoiseOf(setting, line));
    table.rows.push_back(std::move(row));
  }
  table.DropEmptyColumns();
  return table;
}

}  // namespace

Section SettingSection(const Setting& setting, const SpeedUpOptions& options) {
  Section section;
  section.id = setting.id;
  section.title = setting.title;
  section.level = 2;
  section.blocks.emplace_back(Paragraph{setting.description});
  section.blocks.emplace_back(TableOf(setting, options.any_work));
  for (Figure& figure : ScalingOf(setting)) {
    section.blocks.emplace_back(std::move(figure));
  }
  AddFigure(BarsOf(setting), &section);
  AddFigure(HeatMapOf(setting), &section);
  AddSpeedUps(setting, options, &section);
  AddFigure(OfLimitOf(setting), &section);
  return section;
}

}  // namespace feedrate
