#include "lib/gate/verdict/verdicts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/text.h"
#include "lib/gate/verdict/metric_verdicts.h"
#include "lib/records/attempts.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

std::string SideText(const char* side, const std::string& status,
                     const std::string& reason) {
  return absl::StrCat(side, " ", status, reason.empty() ? "" : ": ", reason);
}

// Handles a side that crashed, is unsupported or stopped early, before any time
// is looked at. True if the verdict is final.
bool JudgeProblems(const PairedJob& job, Verdict* verdict) {
  std::set<std::string> codes;
  std::vector<std::string> reasons;
  for (const auto& problem : job.a_problems) {
    codes.insert(problem.first);
    reasons.push_back(SideText("A", problem.first, problem.second));
  }
  for (const auto& problem : job.b_problems) {
    codes.insert(problem.first);
    reasons.push_back(SideText("B", problem.first, problem.second));
  }
  if (codes.empty()) return false;
  const bool died = std::any_of(codes.begin(), codes.end(), IsFailure);
  const bool one_sided = job.a_problems.empty() != job.b_problems.empty();
  verdict->set_verdict(!died && one_sided ? "cannot_tell" : "invalid");
  const auto ended = [](const auto& problems) {
    return std::none_of(problems.begin(), problems.end(),
                        [](const auto& one) { return IsFailure(one.first); });
  };
  if (!one_sided && ended(job.a_problems) == ended(job.b_problems)) {
    codes.insert(kCodeBothSides);
  }
  for (const std::string& code : codes) verdict->add_codes(code);
  verdict->set_reason(absl::StrJoin(reasons, "; "));
  return true;
}

bool JudgeComparable(const PairedJob& job, Verdict* verdict) {
  if (job.profiles.size() > 1) {
    verdict->set_verdict("invalid");
    verdict->add_codes(kCodeMixedProfiles);
    verdict->set_reason(absl::StrCat("rows of different machines: ",
                                     absl::StrJoin(job.profiles, ", ")));
    return true;
  }
  if (job.Differences().empty()) {
    const bool has_a =
        std::any_of(job.pairs.begin(), job.pairs.end(),
                    [](const auto& pair) { return pair.second.a.rows > 0; });
    // What only B has is new. What only A has is lost, and may be slower.
    verdict->set_verdict(has_a ? "cannot_tell" : "invalid");
    verdict->add_codes(kCodeOneSideOnly);
    verdict->set_reason(absl::StrCat("no pair has both sides; only ",
                                     has_a ? "A" : "B", " has this job"));
    return true;
  }
  return false;
}

void SetEffect(const PairedJob& job, const PairedLook& look, Verdict* verdict) {
  Effect* effect = verdict->mutable_effect();
  effect->set_percent(PercentOfLog(look.estimate));
  const Interval interval =
      look.interval.value_or(Interval{look.estimate, look.estimate});
  effect->set_low_percent(PercentOfLog(interval.low));
  effect->set_high_percent(PercentOfLog(interval.high));
  effect->set_confidence(look.interval ? kConfidence : 0);
  effect->set_a(job.TypicalSeconds(false));
  effect->set_b(job.TypicalSeconds(true));
  verdict->set_p_value(look.p_value);
}

std::string RangeText(const Effect& effect) {
  if (effect.confidence() == 0) {
    return absl::StrFormat("%+.2f%%", effect.percent());
  }
  return absl::StrFormat("%+.2f%% [%+.2f%%, %+.2f%%]", effect.percent(),
                         effect.low_percent(), effect.high_percent());
}

void SayCannotTell(const PairedDesign& design, int pairs, double share,
                   Verdict* verdict) {
  const double last =
      ShareOfLook(design, static_cast<int>(design.looks.size()) - 1);
  const int least = LeastPairs(share > 0 ? share : last);
  if (pairs < least) {
    verdict->add_codes(kCodeFewPairs);
    verdict->set_reason(absl::StrFormat(
        "%s; %d pairs cannot prove a change at this level, which takes %d",
        RangeText(verdict->effect()), pairs, least));
    return;
  }
  verdict->add_codes(kCodeNoisy);
  std::string text = absl::StrFormat("%s is neither within ±%g%% nor proved",
                                     RangeText(verdict->effect()),
                                     verdict->interest_percent());
  if (verdict->has_floor_percent()) {
    absl::StrAppendFormat(&text, "; such noise hides less than %.1f%%",
                          verdict->floor_percent());
  }
  verdict->set_reason(text);
}

void SayVerdict(const PairedLook& look, const PairedDesign& design, int pairs,
                double share, Verdict* verdict) {
  const std::string range = RangeText(verdict->effect());
  switch (look.verdict) {
    case PairedVerdict::kSlower:
    case PairedVerdict::kFaster:
      verdict->add_codes(kCodeTime);
      verdict->set_reason(absl::StrFormat("%s in %d pairs, p = %.1g", range,
                                          pairs, look.p_value));
      return;
    case PairedVerdict::kSame:
      if (look.is_small_change) verdict->add_codes(kCodeSmallChange);
      verdict->set_reason(absl::StrFormat(
          "%s is within ±%g%%%s", range, verdict->interest_percent(),
          look.is_small_change ? "; the change is real but small" : ""));
      return;
    case PairedVerdict::kCannotTell:
      SayCannotTell(design, pairs, share, verdict);
      return;
  }
}

// Applies the calibrated floor. A change below it is not judged, whether proved
// or only likely; without any sign of a change, `same` means no change of at
// least that size.
void ApplyCalibratedFloor(double floor_percent, Verdict* verdict) {
  const Effect& effect = verdict->effect();
  const bool is_within = effect.confidence() > 0 &&
                         effect.low_percent() > -floor_percent &&
                         effect.high_percent() < floor_percent;
  const bool has_zero = effect.low_percent() <= 0 && effect.high_percent() >= 0;
  const bool is_small = std::abs(effect.percent()) < floor_percent;
  const bool is_changed =
      verdict->verdict() == "slower" || verdict->verdict() == "faster";
  const bool is_open = verdict->verdict() == "cannot_tell";
  if (is_open && is_within && has_zero) {
    verdict->set_verdict("same");
    verdict->clear_codes();
    verdict->set_interest_percent(floor_percent);
    verdict->set_reason(absl::StrFormat(
        "%s is within ±%g%%, the smallest change that the calibration could "
        "see",
        RangeText(effect), floor_percent));
  } else if (is_small && (is_changed || (is_open && is_within))) {
    verdict->set_verdict("cannot_tell");
    verdict->clear_codes();
    verdict->add_codes(kCodeBelowFloor);
    verdict->set_reason(absl::StrFormat(
        "%s; below %.1f%%, the smallest change that the calibration could see",
        RangeText(effect), floor_percent));
  }
}

void JudgeTimes(const PairedJob& job, const PairedDesign& design,
                const PairedOptions& options, Verdict* verdict) {
  const std::vector<double> differences = job.Differences();
  const int pairs = static_cast<int>(differences.size());
  const int last = static_cast<int>(design.looks.size()) - 1;
  const int number = std::min(job.LastStage(), last);
  const double share = ShareOfLook(design, number);
  const PairedLook look = LookAt(differences, design, number, true);
  verdict->set_verdict(PairedVerdictName(look.verdict));
  verdict->set_pairs(pairs);
  verdict->set_level(design.level);
  verdict->set_interest_percent(design.interest_percent);
  SetEffect(job, look, verdict);
  for (const double d : differences) verdict->add_pair_percent(PercentOfLog(d));
  const auto floor = options.floor_percent.find(job.job_id);
  const bool is_calibrated = floor != options.floor_percent.end();
  if (is_calibrated) {
    verdict->set_floor_percent(floor->second);
    verdict->set_floor_source("calibrated");
  } else if (std::isfinite(look.floor) && look.spread > 0) {
    // Less than half the change of interest is never called a change.
    verdict->set_floor_percent(
        std::max(PercentOfLog(look.floor), design.interest_percent / 2));
    verdict->set_floor_source("estimated");
  }
  SayVerdict(look, design, pairs, share, verdict);
  if (is_calibrated) ApplyCalibratedFloor(floor->second, verdict);
}

// Makes the numbers and the reason of the job those of a metric instead of
// time: of the one that decided.
void ShowMetric(Verdict* verdict) {
  verdict->clear_effect();
  verdict->clear_p_value();
  verdict->clear_floor_percent();
  verdict->clear_floor_source();
  verdict->clear_pair_percent();
  verdict->clear_metric();
  const MetricChange* shown = nullptr;
  for (const char* word : {"worse", "cannot_tell", "better", "same"}) {
    for (const MetricChange& change : verdict->metrics()) {
      if (shown == nullptr && change.verdict() == word) shown = &change;
    }
  }
  if (shown == nullptr) return;
  verdict->set_reason(absl::StrCat(shown->metric(), ": ", shown->reason()));
  verdict->set_metric(shown->metric());
  *verdict->mutable_effect() = shown->effect();
  verdict->set_p_value(shown->p_value());
  verdict->set_pairs(shown->pairs());
  verdict->set_interest_percent(shown->interest_percent());
  if (shown->has_floor_percent()) {
    verdict->set_floor_percent(shown->floor_percent());
    verdict->set_floor_source("estimated");
  }
}

// Judges the metrics besides time. One that got worse makes the job `slower`.
// If time is not judged, the metrics alone decide.
void JudgeMetrics(const PairedJob& job, const PairedRows& rows,
                  const PairedDesign& design, Verdict* verdict) {
  const MetricChoice& choice = rows.choice();
  const int last = static_cast<int>(design.looks.size()) - 1;
  const int number = std::min(job.LastStage(), last);
  std::set<std::string> worse;
  std::vector<std::string> texts;
  if (!choice.has_time) verdict->set_level(0);
  bool is_better = false;
  bool is_open = false;
  for (size_t i = 0; i < choice.metrics.size(); ++i) {
    const std::vector<MetricPair> pairs = job.MetricPairs(i);
    if (pairs.empty()) continue;
    MetricChange* change = verdict->add_metrics();
    *change = JudgeMetric(pairs, choice.metrics[i], design, number);
    verdict->set_level(verdict->level() + change->level());
    if (change->verdict() == "worse") worse.insert(change->metric());
    is_better |= change->verdict() == "better";
    is_open |= change->verdict() == "cannot_tell";
    if (HasMoved(*change)) {
      texts.push_back(absl::StrCat(change->metric(), " ", change->verdict()));
    }
  }
  if (!choice.has_time) {
    ShowMetric(verdict);
    verdict->clear_codes();
    verdict->set_verdict(is_open     ? "cannot_tell"
                         : is_better ? "faster"
                                     : "same");
    if (is_open) verdict->add_codes(kCodeNoisy);
    if (verdict->metrics().empty()) {
      verdict->set_verdict("cannot_tell");
      verdict->add_codes(kCodeMissing);
      verdict->set_reason("no pair has any of the metrics");
    }
  }
  if (!texts.empty()) {
    absl::StrAppend(verdict->mutable_reason(), "; ",
                    absl::StrJoin(texts, "; "));
  }
  if (worse.empty()) return;
  if (verdict->verdict() == "slower") worse.insert(kCodeTime);
  verdict->set_verdict("slower");
  verdict->clear_codes();
  for (const std::string& metric : worse) verdict->add_codes(metric);
}

// Without `is_own`, anybody may have written the record, so that its commands
// are left for the reader to fill in.
std::string RepeatCommand(const Duel& duel, const PairedJob& job, bool is_own) {
  const bool has_id =
      job.row.mode() != "command" && !job.job_id.empty() &&
      std::all_of(job.job_id.begin(), job.job_id.end(), absl::ascii_isalnum);
  const std::string only =
      has_id ? absl::StrCat(" --only=", job.job_id) : std::string();
  const std::string judge =
      absl::StrCat(" | ", ProgramCommand("compare_baseline"), " --paired");
  if (!is_own) {
    return absl::StrCat(ProgramCommand("duel"), " --a=OLD --b=NEW", only,
                        judge);
  }
  std::string a = duel.a();
  std::string b = duel.b();
  for (const Contest& contest : duel.contests()) {
    if (contest.name() != job.contest) continue;
    a = contest.a();
    b = contest.b();
  }
  const bool has_both = std::any_of(duel.flags().begin(), duel.flags().end(),
                                    [](const std::string& flag) {
                                      return absl::StartsWith(flag, "--both=");
                                    });
  std::string command = absl::StrCat(
      ProgramCommand("duel"),
      has_both ? ""
               : absl::StrCat(" --a=", ShellWord(a), " --b=", ShellWord(b)),
      only);
  for (const std::string& flag : duel.flags()) {
    absl::StrAppend(&command, " ", ShellWord(flag));
  }
  return absl::StrCat(command, judge);
}

}  // namespace

int64_t JudgedJobs(const PairedRows& rows) {
  int64_t judged = 0;
  for (const PairedJob& job : rows.jobs()) {
    if (!job.Differences().empty()) ++judged;
  }
  return std::max<int64_t>(1, judged);
}

namespace {

JointLevels LevelsOf(const PairedRows& rows) {
  const bool is_chosen = rows.duel() && rows.duel()->has_error_percent();
  return LevelsFor(
      JudgedJobs(rows), JudgedMetrics(rows), rows.choice().has_time,
      is_chosen ? absl::make_optional(rows.duel()->error_percent() / 100)
                : absl::nullopt);
}

}  // namespace

PairedDesign DesignOf(const PairedRows& rows, const PairedOptions& options) {
  PairedDesign design;
  design.level = LevelsOf(rows).time;
  design.interest_percent = options.interest_percent;
  if (rows.duel() && rows.duel()->stages_size() > 0) {
    design.looks.assign(rows.duel()->stages().begin(),
                        rows.duel()->stages().end());
    return design;
  }
  // Without the record, uses the largest number of pairs per job after each
  // stage.
  std::map<int, int> most;
  for (const PairedJob& job : rows.jobs()) {
    std::map<int, int> here;
    for (const auto& pair : job.pairs) {
      if (pair.second.IsWhole()) ++here[pair.second.stage];
    }
    int sum = 0;
    for (const auto& stage : here) {
      sum += stage.second;
      most[stage.first] = std::max(most[stage.first], sum);
    }
  }
  for (const auto& stage : most) design.looks.push_back(stage.second);
  if (design.looks.empty()) design.looks.push_back(kMaxPairs);
  return design;
}

PairedDesign MetricDesignOf(const PairedRows& rows, PairedDesign design) {
  design.level = LevelsOf(rows).metric;
  return design;
}

bool IsUndecided(const PairedJob& job, const MetricChoice& choice,
                 const PairedDesign& design, PairedDesign metric_design,
                 int look) {
  if (choice.has_time && LookAt(job.Differences(), design, look).verdict ==
                             PairedVerdict::kCannotTell) {
    return true;
  }
  for (size_t i = 0; i < choice.metrics.size(); ++i) {
    const std::vector<MetricPair> pairs = job.MetricPairs(i);
    if (pairs.empty()) continue;
    metric_design.interest_percent = choice.metrics[i].interest_percent;
    if (LookAtMetric(pairs, choice.metrics[i].least, metric_design, look)
            .look.verdict == PairedVerdict::kCannotTell) {
      return true;
    }
  }
  return false;
}

namespace {

// Chance that a control of an undisturbed duel moves, over all controls.
constexpr double kControlLevel = 0.005;

// Untouched code can become faster or slower because it moved.
void SayLayout(const PairedRows& rows, Verdict* verdict) {
  const bool is_change =
      verdict->verdict() == "slower" || verdict->verdict() == "faster";
  if (!is_change || (rows.duel() && rows.duel()->relinked())) return;
  verdict->set_reason(absl::StrCat(verdict->reason(), kLayoutNotExcluded));
}

void AddIdentical(const Duel& duel, std::vector<Verdict>* verdicts) {
  for (const Contest& contest : duel.contests()) {
    if (!contest.identical()) continue;
    Verdict verdict;
    verdict.set_scope("job");
    verdict.set_job(contest.name().empty()
                        ? contest.a()
                        : absl::StrCat(contest.a(), " [", contest.name(), "]"));
    verdict.set_mode("paired");
    verdict.set_metric("time");
    verdict.set_machine_profile(duel.machine_profile());
    verdict.set_verdict("same");
    verdict.add_codes(kCodeIdentical);
    verdict.set_reason(
        "both programs have the same bytes, apart from build ids; not run");
    verdicts->push_back(std::move(verdict));
  }
}

// Says in which pairs other processes used the GPU. If those are half of them
// or more, they count, and a change that is not larger than what others took
// may be how A and B bear that.
void SayGpuShared(const PairedJob& job, Verdict* verdict) {
  int shared = 0;
  double busy = 0;
  for (const auto& [index, pair] : job.pairs) {
    if (!pair.IsWhole() || !pair.SharesGpu()) continue;
    ++shared;
    busy = std::max({busy, pair.a.gpu_others, pair.b.gpu_others});
  }
  if (shared == 0 || !verdict->has_effect()) return;
  const bool count = job.CountingPairs().size() == job.pairs.size();
  const std::string text = absl::StrFormat(
      "other processes used the GPU in %d of %d pairs, up to %.0f%% of the "
      "time, %s",
      shared, job.pairs.size(), 100 * busy,
      count ? "and all pairs count" : "and these are left out");
  const std::string word = verdict->verdict();
  if (count && (word == "slower" || word == "faster") &&
      std::abs(verdict->effect().percent()) <= 100 * busy) {
    verdict->set_reason(
        absl::StrCat(text, "; otherwise ", word, ": ", verdict->reason()));
    verdict->set_verdict("cannot_tell");
    verdict->clear_codes();
    verdict->add_codes(kCodeGpuShared);
    return;
  }
  verdict->set_reason(absl::StrCat(verdict->reason(), "; ", text));
}

// What a run leaves behind cannot bias a verdict by more than it moved the
// control.
void DistrustVerdict(const MovedControl& moved, Verdict* verdict) {
  const std::string& word = verdict->verdict();
  const bool is_identical =
      verdict->codes_size() == 1 && verdict->codes(0) == kCodeIdentical;
  const bool is_larger =
      (word == "slower" || word == "faster") &&
      std::abs(std::log1p(verdict->effect().percent() / 100)) >
          std::log1p(moved.percent / 100);
  if (word == "invalid" || is_identical || is_larger) return;
  verdict->set_reason(
      absl::StrCat(moved.text, "; otherwise ", word, ": ", verdict->reason()));
  verdict->set_verdict("cannot_tell");
  verdict->clear_codes();
  verdict->add_codes(kCodeControlMoved);
}

}  // namespace

MovedControl FindMovedControl(const PairedRows& rows, double interest_percent) {
  MovedControl moved;
  const double level =
      kControlLevel / std::max<size_t>(1, rows.controls().size());
  for (const PairedJob& control : rows.controls()) {
    std::vector<double> differences = control.Differences();
    if (differences.empty()) continue;
    const double estimate = LocationOf(differences, kConfidence).estimate;
    const double percent = PercentOfLog(std::abs(estimate));
    if (percent < interest_percent / 2 || percent <= moved.percent) continue;
    if (estimate < 0) {
      for (double& difference : differences) difference = -difference;
    }
    const double p = 2 * SignFlipPValue(LimitedScores(differences));
    if (p > level) continue;
    moved.percent = percent;
    const std::string change =
        absl::StrFormat("%.1f%% %s", std::abs(PercentOfLog(estimate)),
                        estimate > 0 ? "longer" : "less");
    const std::string evidence =
        absl::StrFormat("(%d pairs, p = %.1g)", differences.size(), p);
    moved.text =
        control.label == "A/A"
            ? absl::StrCat("control: A in the place of B took ", change,
                           " than A ", evidence)
            : absl::StrCat("control: the ", control.label, " workload took ",
                           change, " after B than after A ", evidence,
                           ", so B leaves the machine in another "
                           "state");
  }
  return moved;
}

std::vector<Verdict> JudgePairs(const PairedRows& rows,
                                const PairedOptions& options) {
  const PairedDesign design = DesignOf(rows, options);
  const PairedDesign metric_design = MetricDesignOf(rows, design);
  std::vector<Verdict> verdicts;
  for (const PairedJob& job : rows.jobs()) {
    Verdict verdict;
    verdict.set_scope("job");
    verdict.set_job_id(job.job_id);
    verdict.set_job(job.label);
    verdict.set_mode("paired");
    verdict.set_metric("time");
    verdict.set_machine_profile(job.machine_profile);
    if (rows.duel()) {
      verdict.set_command(
          RepeatCommand(*rows.duel(), job, options.are_own_records));
    }
    if (!JudgeProblems(job, &verdict) && !JudgeComparable(job, &verdict)) {
      JudgeTimes(job, design, options, &verdict);
      SayLayout(rows, &verdict);
      SayGpuShared(job, &verdict);
      JudgeMetrics(job, rows, metric_design, &verdict);
    }
    verdicts.push_back(std::move(verdict));
  }
  if (rows.duel()) AddIdentical(*rows.duel(), &verdicts);
  const MovedControl moved = FindMovedControl(rows, options.interest_percent);
  if (!moved.text.empty()) {
    for (Verdict& verdict : verdicts) DistrustVerdict(moved, &verdict);
  }
  return verdicts;
}

}  // namespace feedrate
