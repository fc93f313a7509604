#include "lib/analysis/mixture/mixture_figures.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/draw/charts.h"
#include "lib/draw/svg.h"

namespace feedrate {
namespace {

// Narrower columns run into each other.
constexpr double kColumnPixels = 6;
// One label for so many pixels.
constexpr double kLabelPixels = 60;
// The grey of the palette, for what has no colour of its own.
constexpr int kGrey = 6;

// Which data sets are drawn by themselves, and in which colours.
struct Parts {
  // Numbers of data sets.
  std::vector<size_t> own;
  std::vector<std::string> names;
  std::vector<int> colors;
  bool has_others = false;

  std::vector<double> Grouped(const std::vector<double>& by_dataset) const {
    std::vector<double> values;
    double rest = std::accumulate(by_dataset.begin(), by_dataset.end(), 0.0);
    for (const size_t d : own) {
      values.push_back(by_dataset[d]);
      rest -= by_dataset[d];
    }
    if (has_others) values.push_back(std::max(0.0, rest));
    return values;
  }
};

Parts PartsOf(const MixtureRun& run) {
  std::vector<double> samples(run.datasets.size());
  for (const auto& batch : run.counts) {
    for (size_t d = 0; d < samples.size(); ++d) {
      samples[d] += static_cast<double>(batch[d]);
    }
  }
  Parts parts;
  parts.own.resize(samples.size());
  std::iota(parts.own.begin(), parts.own.end(), 0);
  std::stable_sort(parts.own.begin(), parts.own.end(),
                   [&](size_t a, size_t b) { return samples[a] > samples[b]; });
  parts.has_others = parts.own.size() > kSeriesColors;
  if (parts.has_others) parts.own.resize(kSeriesColors - 1);
  for (const size_t d : parts.own) {
    const int color = static_cast<int>(parts.names.size());
    // Grey is for the others, and where there are none for the last.
    parts.colors.push_back(color < kGrey                ? color
                           : color == kSeriesColors - 1 ? kGrey
                                                        : kSeriesColors - 1);
    parts.names.push_back(run.datasets[d]);
  }
  if (parts.has_others) {
    parts.names.push_back(
        absl::StrCat(run.datasets.size() - parts.own.size(), " others"));
    parts.colors.push_back(kGrey);
  }
  return parts;
}

// Batches first … last-1 as one column.
StackedColumn ColumnOf(const MixtureRun& run, const Parts& parts, size_t first,
                       size_t last) {
  StackedColumn column;
  std::vector<double> samples(run.datasets.size());
  for (size_t b = first; b < last; ++b) {
    for (size_t d = 0; d < samples.size(); ++d) {
      samples[d] += static_cast<double>(run.counts[b][d]);
    }
    column.below += 1e3 * run.batches[b].wait_s();
  }
  column.below /= static_cast<double>(last - first);
  column.values = parts.Grouped(samples);
  const int64_t from = run.batches[first].batch_index();
  const int64_t to = run.batches[last - 1].batch_index();
  column.name = from == to ? absl::StrCat("batch ", from)
                           : absl::StrCat("batches ", from, " to ", to);
  return column;
}

// The smallest of 1, 2, 5, 10, 20, 50, … that is not below `value`.
size_t RoundUp(double value) {
  for (size_t power = 1;; power *= 10) {
    for (const size_t digit : {1, 2, 5}) {
      if (static_cast<double>(digit * power) >= value) return digit * power;
    }
  }
}

StackedColumns ChartOf(const MixtureRun& run, const Parts& parts,
                       double width) {
  StackedColumns chart;
  chart.parts = parts.names;
  chart.colors = parts.colors;
  if (!run.weight_shares.empty()) {
    chart.wanted = parts.Grouped(run.weight_shares);
    chart.wanted_label = "weights";
  }
  chart.width = width;
  return chart;
}

}  // namespace

StackedColumns MixtureOverTime(const MixtureRun& run, double width) {
  const Parts parts = PartsOf(run);
  StackedColumns chart = ChartOf(run, parts, width);
  chart.title = absl::StrCat("Mixture over time: ", run.name);
  // So many batches share a column, and so many lie between two labels.
  const size_t each = RoundUp(run.batches.size() * kColumnPixels / width);
  const size_t labelled = RoundUp(run.batches.size() * kLabelPixels / width);
  for (size_t first = 0; first < run.batches.size(); first += each) {
    const size_t last = std::min(first + each, run.batches.size());
    StackedColumn column = ColumnOf(run, parts, first, last);
    if (first % labelled == 0) {
      column.label = absl::StrCat(run.batches[first].batch_index());
    }
    if (chart.mark == 0 && run.warmup > 0 && first >= run.warmup) {
      chart.mark = chart.columns.size();
    }
    chart.columns.push_back(std::move(column));
  }
  chart.x_title =
      each > 1 ? absl::StrCat("batch (", each, " in a column)") : "batch";
  if (chart.mark > 0) chart.x_title += "; dashed: end of the warm-up";
  chart.below_title = "mean wait for a batch, ms";
  return chart;
}

StackedColumns MixtureWindows(const MixtureRun& run, double width) {
  const Parts parts = PartsOf(run);
  StackedColumns chart = ChartOf(run, parts, width);
  chart.title = absl::StrCat("Single batches: ", run.name);
  for (size_t b = 0; b < run.batches.size(); ++b) {
    const int64_t place = run.batches[b].batch_index() % kWindowStride;
    if (place >= kWindowBatches) continue;
    StackedColumn column = ColumnOf(run, parts, b, b + 1);
    if (place == 0) {
      column.label = absl::StrCat(run.batches[b].batch_index());
      column.starts_group = true;
    }
    chart.columns.push_back(std::move(column));
  }
  chart.x_title = absl::StrCat("first batch of each window: ", kWindowBatches,
                               " batches every ", kWindowStride);
  chart.below_title = "wait for the batch, ms";
  return chart;
}

}  // namespace feedrate
