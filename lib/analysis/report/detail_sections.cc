#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/mixture/mixture_report.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/sections.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/row.pb.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

constexpr double kMebibyte = 1 << 20;

struct Peaks {
  absl::optional<double> rss;
  absl::optional<double> gpu;
  // Transform with the largest resident memory.
  std::string where;
};

// Keyed by library, mode and device.
using PeakMap = std::map<std::string, Peaks>;

void Raise(const absl::optional<double>& value, absl::optional<double>* peak) {
  if (!value.has_value()) return;
  *peak = std::max(*value, peak->value_or(*value));
}

PeakMap PeaksOf(const std::vector<ReportCell>& cells) {
  PeakMap peaks;
  for (const ReportCell& cell : cells) {
    if ((!cell.rss_peak_bytes.has_value() &&
         !cell.gpu_peak_bytes.has_value()) ||
        cell.example.library() == kNullLibrary) {
      continue;
    }
    const Row& row = cell.example;
    Peaks& place =
        peaks[absl::StrCat(LibraryOf(row), ", ", row.mode(),
                           row.device().empty() ? "" : ", ", row.device())];
    if (cell.rss_peak_bytes.has_value() &&
        *cell.rss_peak_bytes > place.rss.value_or(-1)) {
      place.where = row.transform();
    }
    Raise(cell.rss_peak_bytes, &place.rss);
    Raise(cell.gpu_peak_bytes, &place.gpu);
  }
  return peaks;
}

DocumentCell BytesCell(const absl::optional<double>& bytes) {
  if (!bytes.has_value()) return NotMeasured();
  DocumentCell cell(BytesText(*bytes));
  cell.value = *bytes;
  return cell;
}

Figure FigureOf(const PeakMap& peaks) {
  BarChart chart;
  chart.title = "Peak memory";
  chart.axis_title = "MiB";
  chart.series = {"resident", "GPU allocator"};
  for (const auto& entry : peaks) {
    BarGroup group;
    group.name = entry.first;
    for (const auto& bytes : {entry.second.rss, entry.second.gpu}) {
      if (!bytes.has_value()) {
        group.bars.emplace_back();
        continue;
      }
      Bar bar;
      bar.estimate = Estimate{*bytes / kMebibyte, absl::nullopt};
      bar.text = BytesText(*bytes);
      bar.hover = absl::StrCat(entry.first, "\n", bar.text);
      group.bars.emplace_back(std::move(bar));
    }
    chart.groups.push_back(std::move(group));
  }
  Figure figure;
  figure.id = "memory-peaks";
  figure.caption =
      "Largest memory of any run: resident set of the measured process, and "
      "what the CUDA allocator had in tensors.";
  figure.draw = DrawnBy(DrawBarChart, std::move(chart));
  return figure;
}

}  // namespace

absl::optional<Section> MemorySection(const std::vector<ReportCell>& cells) {
  const PeakMap peaks = PeaksOf(cells);
  if (peaks.empty()) return absl::nullopt;
  Section section;
  section.id = "memory";
  section.title = "Memory";
  section.blocks.emplace_back(FigureOf(peaks));
  DocumentTable table;
  table.header = {"library, mode, device", "resident peak", "reached by",
                  "GPU peak"};
  table.align = {Align::kLeft, Align::kRight, Align::kLeft, Align::kRight};
  for (const auto& entry : peaks) {
    table.rows.push_back({entry.first, BytesCell(entry.second.rss),
                          entry.second.where, BytesCell(entry.second.gpu)});
  }
  table.DropEmptyColumns();
  section.blocks.emplace_back(std::move(table));
  return section;
}

namespace {

// Number of runs shown; mixture_summary.txt has all of them.
constexpr size_t kShown = 8;

using Chart = StackedColumns (*)(const MixtureRun&, double width);

// `number` is the index of the run; the first has an id without a number.
Figure FigureOf(const MixtureRun& run, size_t number, const std::string& id,
                const std::string& caption, Chart chart) {
  Figure figure;
  figure.id = number == 0 ? id : absl::StrCat(id, "-", number + 1);
  figure.caption = absl::StrCat(caption, " ", run.name, ".");
  figure.draw = [run, chart](ScaleType, double width) {
    return DrawStackedColumns(chart(run, width));
  };
  return figure;
}

void AddRun(const MixtureRun& run, size_t number, Section* section) {
  const MixtureStalls stalls = StallsOf(run);
  section->blocks.emplace_back(FigureOf(run, number, "mixture_over_time",
                                        "Shares of the data sets over the run.",
                                        MixtureOverTime));
  section->blocks.emplace_back(
      FigureOf(run, number, "mixture_windows_every_stride",
               absl::StrCat("Single batches: ", kWindowBatches, " in every ",
                            kWindowStride, "."),
               MixtureWindows));
  std::string facts;
  for (const MixtureFact& fact : MixtureFacts(run, stalls)) {
    absl::StrAppend(&facts, facts.empty() ? "" : "; ", fact.name, ": ",
                    fact.text);
  }
  section->blocks.emplace_back(Paragraph{absl::StrCat(facts, ".")});
  DocumentTable table = StallTable(stalls);
  table.caption =
      absl::StrCat("Data sets by the stalls they cause. ", run.name);
  section->blocks.emplace_back(std::move(table));
  for (const std::string& line : MixtureAdvice(run, stalls)) {
    section->blocks.emplace_back(Paragraph{line});
  }
}

}  // namespace

absl::optional<Section> MixtureSection(const ReportInput& input) {
  const std::vector<MixtureRun> runs =
      FirstRuns(MixtureRunsOf(input.rows, input.batches));
  if (runs.empty()) return absl::nullopt;
  Section section;
  section.id = "mixing";
  section.title = "How mixtures mix";
  section.blocks.emplace_back(Paragraph{
      "The first run of each job, batch by batch. A data set's stalls are the "
      "time that the consumer waited for batches in which it had the most "
      "samples; its excess is the part above the median wait in batches that "
      "it slowed. It returns when it comes back after a gap of three times its "
      "usual one. Suggestions are guesses: compare them with the present "
      "settings, for example by `duel`."});
  for (size_t i = 0; i < runs.size() && i < kShown; ++i) {
    AddRun(runs[i], i, &section);
  }
  if (runs.size() > kShown) {
    section.blocks.emplace_back(
        Paragraph{absl::StrCat(runs.size() - kShown,
                               " further jobs are in `mixture_summary.txt`, "
                               "which `--svg` writes beside the figures.")});
  }
  return section;
}

namespace {

const char* MeaningOf(const std::string& warning) {
  static const auto& meanings = *new std::map<std::string, const char*>{
      {"noisy",
       "waited for a processor or the disk for a good part of the run"},
      {"throttled", "the clock was lowered while it ran"},
      {"migrated", "moved between processors while it ran"},
      {"contended", "others used the processors at the same time"},
      {"multithreaded", "used more threads than it was given"},
      {"noop", "the output is the input: nothing was done"},
  };
  const auto meaning = meanings.find(warning);
  return meaning == meanings.end() ? "" : meaning->second;
}

// More dots of a library only cover each other, and each takes room in a page.
constexpr size_t kMostDots = 400;

// Leaves the outermost values at both ends, and some between. Returns whether
// any were left out.
bool ThinOut(std::vector<double>* values) {
  if (values->size() <= kMostDots) return false;
  std::sort(values->begin(), values->end());
  constexpr size_t kEnds = kMostDots / 4;
  const size_t inner = values->size() - 2 * kEnds;
  constexpr size_t kInner = kMostDots - 2 * kEnds;
  for (size_t i = 0; i < kInner; ++i) {
    (*values)[kEnds + i] = (*values)[kEnds + i * inner / kInner];
  }
  std::copy(values->end() - kEnds, values->end(),
            values->begin() + kEnds + kInner);
  values->resize(kMostDots);
  return true;
}

absl::optional<Figure> SpreadFigure(const std::vector<ReportCell>& cells) {
  std::map<std::string, std::vector<double>> by_library;
  // Uses the colors of the other figures, which omit the harness.
  std::set<std::string> libraries;
  for (const ReportCell& cell : cells) {
    if (cell.example.library() != kNullLibrary) {
      libraries.insert(cell.example.library());
    }
  }
  for (const ReportCell& cell : cells) {
    if (cell.throughputs.size() < 2 || !(cell.summary->median > 0) ||
        cell.example.library() == kNullLibrary) {
      continue;
    }
    for (const double value : cell.throughputs) {
      by_library[cell.example.library()].push_back(
          100 * (value / cell.summary->median - 1));
    }
  }
  if (by_library.empty()) return absl::nullopt;
  StripPlot plot;
  plot.title = "Spread over runs";
  plot.axis_title = "% off the median of its cell";
  plot.from_zero = false;
  plot.reference = 0;
  bool is_thinned = false;
  for (auto& entry : by_library) {
    StripRow row;
    row.name = entry.first;
    row.series = static_cast<int>(
        std::distance(libraries.begin(), libraries.find(entry.first)));
    row.box = Box{Quantile(entry.second, 0.25), Quantile(entry.second, 0.5),
                  Quantile(entry.second, 0.75)};
    row.hover = absl::StrCat(entry.first, "\n", entry.second.size(),
                             " runs; half of them between ",
                             SignificantText(row.box->low), "% and ",
                             SignificantText(row.box->high), "%");
    is_thinned |= ThinOut(&entry.second);
    row.values = std::move(entry.second);
    plot.rows.push_back(std::move(row));
  }
  Figure figure;
  figure.id = "noise-spread";
  figure.caption = absl::StrCat(
      is_thinned ? absl::StrCat("Runs against the median of their cell. Of a "
                                "library with more than ",
                                kMostDots,
                                ", the ones furthest off are shown and "
                                "some between.")
                 : "Every run against the median of its cell.",
      " The box holds the middle half of the runs.");
  figure.draw = DrawnBy(DrawStripPlot, std::move(plot));
  return figure;
}

void AddWarnings(const std::vector<ReportCell>& cells, Section* section) {
  struct Count {
    int rows = 0;
    int cells = 0;
  };
  std::map<std::string, Count> counts;
  for (const ReportCell& cell : cells) {
    for (const auto& warning : cell.warnings) {
      counts[warning.first].rows += warning.second;
      ++counts[warning.first].cells;
    }
  }
  if (counts.empty()) return;
  DocumentTable table;
  table.caption = "What disturbed the timing.";
  table.header = {"warning", "rows", "cells", "meaning"};
  table.align = {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft};
  for (const auto& entry : counts) {
    DocumentCell rows(absl::StrCat(entry.second.rows));
    rows.value = entry.second.rows;
    DocumentCell in_cells(absl::StrCat(entry.second.cells));
    in_cells.value = entry.second.cells;
    table.rows.push_back({entry.first, rows, in_cells, MeaningOf(entry.first)});
  }
  section->blocks.emplace_back(std::move(table));
}

void AddUnstable(const std::vector<ReportCell>& cells, Section* section) {
  std::vector<const ReportCell*> unstable;
  std::set<std::string> settings;
  for (const ReportCell& cell : cells) {
    if (!cell.IsUnstable()) continue;
    unstable.push_back(&cell);
    settings.insert(SettingOf(cell.example));
  }
  if (unstable.empty()) return;
  DocumentTable table;
  table.caption = absl::StrCat("Unstable cells: standard deviation above ",
                               PercentText(kUnstableCv), " of the mean.");
  table.header = {"library", "transform", "scenario", "mode"};
  table.align.assign(4, Align::kLeft);
  if (settings.size() > 1) {
    table.header.push_back("setting");
    table.align.push_back(Align::kLeft);
  }
  table.header.insert(table.header.end(), {"runs", "spread"});
  table.align.insert(table.align.end(), 2, Align::kRight);
  for (const ReportCell* cell : unstable) {
    const Row& row = cell->example;
    DocumentCell runs(absl::StrCat(cell->summary->n));
    runs.value = cell->summary->n;
    DocumentCell spread(PercentText(cell->summary->cv));
    spread.value = cell->summary->cv;
    table.rows.push_back(
        {LibraryOf(row), row.transform(), row.scenario(), row.mode()});
    if (settings.size() > 1) table.rows.back().push_back(SettingOf(row));
    table.rows.back().push_back(runs);
    table.rows.back().push_back(spread);
  }
  table.DropEmptyColumns();
  table.FoldConstantColumns();
  section->blocks.emplace_back(std::move(table));
}

void AddHarness(const std::vector<ReportCell>& cells, Section* section) {
  std::vector<std::string> costs;
  for (const ReportCell& cell : cells) {
    if (cell.example.library() != kNullLibrary || !cell.summary.has_value() ||
        !(cell.summary->median > 0)) {
      continue;
    }
    const Row& row = cell.example;
    costs.push_back(absl::StrCat(
        row.scenario(), ", ", row.mode(), " on `", row.machine_profile(), "` ",
        SignificantText(cell.summary->median), " ", row.unit(), "s/s (",
        SignificantText(1e6 / cell.summary->median), " µs per ", row.unit(),
        ")"));
  }
  if (costs.empty()) return;
  section->blocks.emplace_back(
      Paragraph{absl::StrCat("Footnote on harness cost: without a library, ",
                             absl::StrJoin(costs, "; "),
                             ". What comes near that is not measured well.")});
}

}  // namespace

absl::optional<Section> NoiseSection(const std::vector<ReportCell>& cells) {
  Section section;
  section.id = "noise";
  section.title = "Noise";
  absl::optional<Figure> spread = SpreadFigure(cells);
  if (spread.has_value()) section.blocks.emplace_back(*std::move(spread));
  AddWarnings(cells, &section);
  AddUnstable(cells, &section);
  AddHarness(cells, &section);
  if (section.blocks.empty()) return absl::nullopt;
  return section;
}

}  // namespace feedrate
