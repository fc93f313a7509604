#include "lib/analysis/mixture/mixture_advice.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/mixture_stalls.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

// A consumer that waits less than this is fed.
constexpr double kFed = 0.05;
// So many data sets are spoken of; they must each cause this part of the
// stalls, else there is no culprit.
constexpr size_t kWorst = 3;
constexpr double kCulprit = 0.1;
// Slow returns that cause this part of them want a word, whoever returns.
constexpr double kManyReturns = 0.2;
// How much longer than usual a wait must be to say something of its data set.
constexpr double kSlowBatch = 1.25;
// A weight is never cut by more at once: the mixture is the experiment.
constexpr double kLeastWeight = 0.5;
// Below this rate blocks of one data set are what the trainer sees.
constexpr double kFewSwitches = 0.5;

std::string Milliseconds(double seconds) {
  return absl::StrCat(SignificantText(1e3 * seconds), " ms");
}

// "pipeline_interleave from 2 to 4", or without numbers where none is known.
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
      Milliseconds(wait_s / static_cast<double>(returns)), " where ",
      Milliseconds(stalls.typical_wait_s),
      " are usual: keep more data sets open (try ",
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
  // The first batch of all has to be the first with something.
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

}  // namespace feedrate
