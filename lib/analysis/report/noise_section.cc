#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/side_sections.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

constexpr char kNullLibrary[] = "null";

const char* MeaningOf(const std::string& warning) {
  static const auto& meanings = *new std::map<std::string, const char*>{
      {"noisy", "samples of one run differ more than they should"},
      {"throttled", "the clock was lowered while it ran"},
      {"migrated", "moved between processors while it ran"},
      {"contended", "others used the processors at the same time"},
      {"multithreaded", "used more threads than it was given"},
      {"noop", "the output is the input: nothing was done"},
  };
  const auto meaning = meanings.find(warning);
  return meaning == meanings.end() ? "" : meaning->second;
}

absl::optional<Figure> SpreadFigure(const std::vector<ReportCell>& cells) {
  std::map<std::string, std::vector<double>> by_library;
  // In the colours of the other figures, which leave the harness out.
  std::set<std::string> libraries;
  for (const ReportCell& cell : cells) {
    if (cell.example.library() != kNullLibrary) {
      libraries.insert(cell.example.library());
    }
  }
  for (const ReportCell& cell : cells) {
    if (cell.throughputs.size() < 2 || !(cell.summary->median > 0)) continue;
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
    row.values = std::move(entry.second);
    plot.rows.push_back(std::move(row));
  }
  Figure figure;
  figure.id = "noise-spread";
  figure.caption =
      "Every run against the median of its cell. The box holds the middle half "
      "of the runs.";
  figure.draw = [plot](ScaleType, double width) {
    StripPlot sized = plot;
    sized.width = width;
    return DrawStripPlot(sized);
  };
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
  DocumentTable table;
  table.caption = absl::StrCat("Unstable cells: standard deviation above ",
                               PercentText(kUnstableCv), " of the mean.");
  table.header = {"transform", "library", "scenario", "mode", "runs", "spread"};
  table.align = {Align::kLeft, Align::kLeft,  Align::kLeft,
                 Align::kLeft, Align::kRight, Align::kRight};
  for (const ReportCell& cell : cells) {
    if (!cell.IsUnstable()) continue;
    DocumentCell runs(absl::StrCat(cell.summary->n));
    runs.value = cell.summary->n;
    DocumentCell spread(PercentText(cell.summary->cv));
    spread.value = cell.summary->cv;
    table.rows.push_back({cell.example.transform(), cell.example.library(),
                          cell.example.scenario(), cell.example.mode(), runs,
                          spread});
  }
  if (!table.rows.empty()) section->blocks.emplace_back(std::move(table));
}

void AddHarness(const std::vector<ReportCell>& cells, Section* section) {
  for (const ReportCell& cell : cells) {
    if (cell.example.library() != kNullLibrary || !cell.summary.has_value()) {
      continue;
    }
    section->blocks.emplace_back(Paragraph{absl::StrCat(
        "The harness alone (library `null`, ", cell.example.scenario(), ", ",
        cell.example.mode(), ") makes ", SignificantText(cell.summary->median),
        " ", cell.example.unit(),
        "s per second: what comes near it is not measured well.")});
  }
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
