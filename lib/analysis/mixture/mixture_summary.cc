#include "lib/analysis/mixture/mixture_summary.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/analysis/mixture/mixture_advice.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/mixture_stalls.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// Single batches that are named.
constexpr size_t kLongestWaits = 10;

std::string Milliseconds(double seconds) {
  return SignificantText(1e3 * seconds);
}

DocumentCell Sorted(std::string text, double value) {
  DocumentCell cell(std::move(text));
  cell.value = value;
  return cell;
}

// By falling wait, equals in their order.
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
                    Milliseconds(stalls.typical_wait_s), " ms a batch")});
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
  return absl::StrJoin(texts, "\n");
}

}  // namespace feedrate
