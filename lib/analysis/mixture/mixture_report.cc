#include "lib/analysis/mixture/mixture_report.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/base/text.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/svg.h"
#include "lib/draw/text.h"
#include "lib/records/loader.pb.h"

namespace feedrate {
namespace {

// A consumer that waits for less than this share of the time is fast enough.
constexpr double kFed = 0.05;
// Advice names at most kWorst data sets, and only those that cause at least
// this share of the stalls.
constexpr size_t kWorst = 3;
constexpr double kCulprit = 0.1;
// Slow returns are mentioned if they cause at least this share of the stalls.
constexpr double kManyReturns = 0.2;
// A wait must be this much longer than usual to blame its data set.
constexpr double kSlowBatch = 1.25;
// Advice never reduces a weight by more than this at once, because the mixture
// is what the user wants to train on.
constexpr double kLeastWeight = 0.5;
// Below this rate, the trainer sees long blocks of one data set.
constexpr double kFewSwitches = 0.5;

std::string Milliseconds(double seconds) {
  return SignificantText(1e3 * seconds);
}

// Such as "pipeline_interleave from 2 to 4", without numbers if the value is
// unknown.
std::string Doubled(const MixtureRun& run, const std::string& setting) {
  int value = 0;
  if (!absl::SimpleAtoi(run.Setting(setting), &value) || value < 1) {
    return setting;
  }
  return absl::StrCat(setting, " from ", value, " to ", 2 * value);
}

void AddReturns(const MixtureRun& run, const MixtureStalls& stalls,
                std::vector<std::string>* advice) {
  if (stalls.total_excess_s <= 0 ||
      stalls.return_excess_s < kManyReturns * stalls.total_excess_s) {
    return;
  }
  std::string names;
  int64_t returns = 0;
  size_t count = 0;
  double wait_s = 0;
  for (const DatasetStalls& one : stalls.datasets) {
    if (!one.returns_slowly) continue;
    if (++count <= kWorst) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", one.dataset);
    }
    returns += one.returns;
    wait_s += one.return_wait_s * static_cast<double>(one.returns);
  }
  if (count > kWorst) absl::StrAppend(&names, " and ", count - kWorst, " more");
  advice->push_back(absl::StrCat(
      names, " came back ", returns,
      " times after a long absence, and the consumer then waited ",
      Milliseconds(wait_s / static_cast<double>(returns)), " ms where ",
      Milliseconds(stalls.typical_wait_s),
      " ms are usual: keep more data sets open (try ",
      Doubled(run, "pipeline_interleave"), ") or ask for them more often."));
}

std::string AboutCost(const MixtureRun& run, const DatasetStalls& one,
                      double ratio) {
  std::string text = absl::StrFormat(
      "Batches that %s dominates are waited for %.1fx as long as usual: its "
      "samples cost more than others. Try %s",
      one.dataset, ratio, Doubled(run, "decode_parallelism"));
  if (one.weight_share.has_value()) {
    absl::StrAppend(
        &text, ", or a share of ",
        PercentText(*one.weight_share * std::max(kLeastWeight, 1 / ratio)),
        " in place of ", PercentText(*one.weight_share));
  }
  return absl::StrCat(text, ".");
}

void AddWorst(const MixtureRun& run, const MixtureStalls& stalls,
              std::vector<std::string>* advice) {
  const double typical_s = stalls.typical_wait_s;
  for (size_t i = 0; i < std::min(kWorst, stalls.datasets.size()); ++i) {
    const DatasetStalls& one = stalls.datasets[i];
    if (one.returns_slowly || one.dominated == 0 || typical_s <= 0 ||
        one.excess_s < kCulprit * stalls.total_excess_s) {
      continue;
    }
    const double ratio = one.typical_stall_s / typical_s;
    if (ratio >= kSlowBatch) advice->push_back(AboutCost(run, one, ratio));
  }
}

void AddMixing(const MixtureRun& run, std::vector<std::string>* advice) {
  int block = 0;
  if (!run.row.has_value() || run.datasets.size() < 3 ||
      !absl::SimpleAtoi(run.Setting("mix_block_length"), &block) || block < 2 ||
      run.row->mixture().dominant_switch_rate() >= kFewSwitches) {
    return;
  }
  advice->push_back(
      absl::StrCat("The dominant data set changes in ",
                   PercentText(run.row->mixture().dominant_switch_rate()),
                   " of the batches: shorter blocks (mix_block_length from ",
                   block, " to ", block / 2, ") mix more finely."));
}

void AddLate(const MixtureRun& run, std::vector<std::string>* advice) {
  int late = 0;
  // Skips the very first batch, which always has new data sets.
  for (size_t b = std::max<size_t>(1, run.warmup); b < run.batches.size();
       ++b) {
    late += run.batches[b].first_seen_size();
  }
  if (late == 0) return;
  advice->push_back(absl::StrCat(
      late, late == 1 ? " data set was" : " data sets were",
      " first seen after the warm-up; prime_each_dataset_samples of 1 brings "
      "all of them into the first batches."));
}

}  // namespace

std::vector<std::string> MixtureAdvice(const MixtureRun& run,
                                       const MixtureStalls& stalls) {
  std::vector<std::string> advice;
  const std::string waited = absl::StrCat(
      "The consumer waited ", PercentText(stalls.wait_share), " of the time");
  if (stalls.wait_share < kFed) {
    advice.push_back(absl::StrCat(waited, ": the loader keeps up."));
  } else {
    AddReturns(run, stalls, &advice);
    AddWorst(run, stalls, &advice);
    if (advice.empty()) {
      advice.push_back(absl::StrCat(
          waited,
          ", and no data set stands out: the loader as a whole is what "
          "binds (decode_parallelism, processors)."));
    }
  }
  AddMixing(run, &advice);
  AddLate(run, &advice);
  return advice;
}

namespace {

// Number of batches listed.
constexpr size_t kLongestWaits = 10;

DocumentCell Sorted(std::string text, double value) {
  DocumentCell cell(std::move(text));
  cell.value = value;
  return cell;
}

// Batches by decreasing wait; equal ones stay in order.
std::vector<size_t> LongestWaits(const MixtureRun& run) {
  std::vector<size_t> order(run.batches.size() - run.warmup);
  std::iota(order.begin(), order.end(), run.warmup);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return run.batches[a].wait_s() > run.batches[b].wait_s();
  });
  if (order.size() > kLongestWaits) order.resize(kLongestWaits);
  return order;
}

std::string LongestWaitsText(const MixtureRun& run) {
  Table table({"batch", "wait ms", "dominant", "its share", "first seen"},
              {Align::kRight, Align::kRight, Align::kLeft, Align::kRight,
               Align::kLeft});
  for (const size_t b : LongestWaits(run)) {
    const Batch& batch = run.batches[b];
    double most = 0;
    for (const int64_t samples : run.counts[b]) {
      most = std::max(most, static_cast<double>(samples));
    }
    const double items =
        std::max<double>(1, static_cast<double>(batch.items()));
    table.AddRow({absl::StrCat(batch.batch_index()),
                  Milliseconds(batch.wait_s()), batch.dominant(),
                  PercentText(most / items),
                  absl::StrJoin(batch.first_seen(), " ")});
  }
  return table.ToText();
}

std::string StallText(const MixtureStalls& stalls) {
  const DocumentTable document = StallTable(stalls);
  Table table(document.header, document.align);
  for (const auto& row : document.rows) {
    std::vector<std::string> cells;
    for (const DocumentCell& cell : row) cells.push_back(cell.text);
    table.AddRow(std::move(cells));
  }
  return table.ToText();
}

std::string RunText(const MixtureRun& run) {
  const MixtureStalls stalls = StallsOf(run);
  std::string text = absl::StrCat(run.name, "\n", "job ", run.job_id, ", run ",
                                  run.run_index, "\n\n");
  for (const MixtureFact& fact : MixtureFacts(run, stalls)) {
    absl::StrAppend(&text, "  ", fact.name, ": ", fact.text, "\n");
  }
  absl::StrAppend(&text, "\nData sets by the stalls they cause\n\n",
                  StallText(stalls), "\nLongest waits\n\n",
                  LongestWaitsText(run), "\nWhat to try\n\n");
  for (const std::string& line : MixtureAdvice(run, stalls)) {
    absl::StrAppend(&text, "- ", line, "\n");
  }
  return text;
}

}  // namespace

std::vector<MixtureFact> MixtureFacts(const MixtureRun& run,
                                      const MixtureStalls& stalls) {
  std::vector<MixtureFact> facts;
  const size_t measured = run.batches.size() - run.warmup;
  facts.push_back({"batches", absl::StrCat(measured, " measured after ",
                                           run.warmup, " of warm-up")});
  if (run.row.has_value()) {
    const Mixture& mixture = run.row->mixture();
    facts.push_back(
        {"speed",
         absl::StrCat(SignificantText(mixture.samples_per_s()), " samples/s, ",
                      SignificantText(mixture.batches_per_s()), " batches/s")});
    facts.push_back(
        {"batch, ms",
         absl::StrCat("p50 ", Milliseconds(mixture.batch_p50_s()), ", p90 ",
                      Milliseconds(mixture.batch_p90_s()), ", p99 ",
                      Milliseconds(mixture.batch_p99_s()))});
    facts.push_back(
        {"start and end, ms",
         absl::StrCat("ready ", Milliseconds(mixture.startup_s()),
                      ", first batch ", Milliseconds(mixture.first_batch_s()),
                      ", end ", Milliseconds(mixture.teardown_s()),
                      mixture.teardown_killed() ? " (killed)" : "")});
    facts.push_back({"mixture error", PercentText(mixture.mixture_error())});
    facts.push_back(
        {"dominant data set",
         absl::StrCat("changes in ",
                      PercentText(mixture.dominant_switch_rate()),
                      " of the batches; ", mixture.unique_dominant(), " of ",
                      mixture.datasets(), " dominate one")});
    if (mixture.skipped() > 0) {
      facts.push_back({"left out", absl::StrCat(mixture.skipped(),
                                                " episodes, frames, sets")});
    }
  }
  facts.push_back(
      {"waited",
       absl::StrCat(SignificantText(stalls.total_wait_s), " s, ",
                    PercentText(stalls.wait_share), " of the time; typically ",
                    Milliseconds(stalls.typical_wait_s), " ms per batch")});
  if (run.row.has_value() && !run.row->labels().empty()) {
    facts.push_back({"labels", absl::StrJoin(run.row->labels(), ", ")});
  }
  return facts;
}

DocumentTable StallTable(const MixtureStalls& stalls) {
  DocumentTable table;
  table.header = {"data set",    "weight",   "samples",
                  "dominates",   "stalls s", "excess s",
                  "longest gap", "returns",  "wait then, ms"};
  table.align.assign(table.header.size(), Align::kRight);
  table.align[0] = Align::kLeft;
  for (const DatasetStalls& one : stalls.datasets) {
    table.rows.push_back(
        {one.dataset,
         one.weight_share.has_value()
             ? Sorted(PercentText(*one.weight_share), *one.weight_share)
             : DocumentCell("–"),
         Sorted(PercentText(one.sample_share), one.sample_share),
         Sorted(absl::StrCat(one.dominated), one.dominated),
         Sorted(SignificantText(one.stall_s), one.stall_s),
         Sorted(SignificantText(one.excess_s), one.excess_s),
         Sorted(absl::StrCat(one.longest_gap), one.longest_gap),
         Sorted(absl::StrCat(one.returns), one.returns),
         one.returns > 0
             ? Sorted(Milliseconds(one.return_wait_s), one.return_wait_s)
             : DocumentCell("–")});
  }
  return table;
}

std::string MixtureSummary(const std::vector<MixtureRun>& runs) {
  std::vector<std::string> texts;
  for (const MixtureRun& run : runs) texts.push_back(RunText(run));
  return PrintableLines(absl::StrJoin(texts, "\n"));
}

namespace {

// Least width of a column; narrower ones run into each other.
constexpr double kColumnPixels = 6;
// Pixels per label.
constexpr double kLabelPixels = 60;
// The palette's gray, for data sets without their own color.
constexpr int kGray = 6;

// Which data sets are drawn separately, and in which colors.
struct Parts {
  // Indexes of data sets.
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
  parts.has_others = parts.own.size() > kEasyColors;
  if (parts.has_others) parts.own.resize(kEasyColors - 1);
  for (const size_t d : parts.own) {
    const int color = static_cast<int>(parts.names.size());
    // Gray is for the other data sets, or for the last if there are no others.
    parts.colors.push_back(color < kGray              ? color
                           : color == kEasyColors - 1 ? kGray
                                                      : kEasyColors - 1);
    parts.names.push_back(run.datasets[d]);
  }
  if (parts.has_others) {
    parts.names.push_back(
        absl::StrCat(run.datasets.size() - parts.own.size(), " others"));
    parts.colors.push_back(kGray);
  }
  return parts;
}

// Draws batches `first` to `last` - 1 as one column.
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
  // Batches per column, and batches per label.
  const size_t each = RoundUp(run.batches.size() * kColumnPixels / width);
  const size_t labeled = RoundUp(run.batches.size() * kLabelPixels / width);
  for (size_t first = 0; first < run.batches.size(); first += each) {
    const size_t last = std::min(first + each, run.batches.size());
    StackedColumn column = ColumnOf(run, parts, first, last);
    if (first % labeled == 0) {
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
