#include "lib/gate/verdict/rule_verdicts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/places.h"
#include "lib/config/text_proto.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/stored_runs.h"
#include "lib/gate/verdict/verdicts.h"

namespace feedrate {
bool IsSpeed(const std::string& metric) {
  return metric == "throughput" || absl::StrContains(metric, "_per_s") ||
         absl::StrContains(metric, "step_time") ||
         absl::EndsWith(metric, "_s") || absl::EndsWith(metric, "_share");
}

namespace {

absl::Status CheckTolerance(const Tolerance& tolerance, const Places& places,
                            const std::string& path) {
  const auto error = [&](const std::string& field, const std::string& what) {
    return places.Error(absl::StrCat(path, field), what);
  };
  if (tolerance.metric().empty()) {
    return error("", "`metric` is missing; use one such as \"throughput\"");
  }
  const int limits = tolerance.has_percent() + tolerance.has_absolute() +
                     tolerance.has_max_value() + tolerance.has_min_value();
  if (tolerance.off()) {
    if (limits == 0) return absl::OkStatus();
    return error(".off", "goes without a limit; leave one of them out");
  }
  if (limits != 1) {
    return error("", absl::StrCat("has ", limits,
                                  " limits; give exactly one of `percent`, "
                                  "`absolute`, `max_value`, `min_value`"));
  }
  const bool is_relative = tolerance.has_percent() || tolerance.has_absolute();
  if (is_relative && tolerance.better() == BETTER_UNSPECIFIED) {
    return error("", "`better` is missing; use HIGHER or LOWER");
  }
  const double limit =
      tolerance.has_percent() ? tolerance.percent() : tolerance.absolute();
  if (is_relative && !(limit >= 0 && std::isfinite(limit))) {
    return error(tolerance.has_percent() ? ".percent" : ".absolute",
                 absl::StrCat(limit, " is not a number from 0 upwards"));
  }
  for (const double value : {tolerance.max_value(), tolerance.min_value()}) {
    if (!std::isfinite(value)) return error("", "a limit is not finite");
  }
  return absl::OkStatus();
}

// The unit of a metric's value. Empty for shares, counts and scores.
std::string UnitOf(const std::string& metric, const std::string& item) {
  if (metric == "throughput") {
    return absl::StrCat(item.empty() ? "item" : item, "s/s");
  }
  if (absl::StrContains(metric, "tokens_per_sec")) return "tokens/s";
  if (absl::StrContains(metric, "samples_per_sec")) return "samples/s";
  if (absl::EndsWith(metric, "_bytes")) return "bytes";
  if (absl::EndsWith(metric, "_mb_per_s")) return "MB/s";
  if (absl::StrContains(metric, "_per_s")) return "1/s";
  if (absl::StrContains(metric, "step_time") || absl::EndsWith(metric, "_s")) {
    return "s";
  }
  return "";
}

std::string BreachName(const Tolerance& tolerance) {
  return tolerance.severity() == WARN ? "warn" : "fail";
}

// Checks against a bound that needs no baseline.
RuleCheck CheckBound(const Tolerance& tolerance, double current) {
  RuleCheck check;
  check.set_current(current);
  const bool is_most = tolerance.has_max_value();
  const double bound = is_most ? tolerance.max_value() : tolerance.min_value();
  check.set_allowed(bound);
  check.set_unit("value");
  check.set_worse_by(is_most ? current - bound : bound - current);
  check.set_result(check.worse_by() > 0 ? BreachName(tolerance) : "pass");
  return check;
}

RuleCheck CheckChange(const Tolerance& tolerance, double baseline,
                      double current) {
  RuleCheck check;
  check.set_current(current);
  check.set_baseline(baseline);
  double worse =
      tolerance.better() == LOWER ? current - baseline : baseline - current;
  if (tolerance.has_percent()) {
    check.set_unit("%");
    check.set_allowed(tolerance.percent());
    if (baseline == 0) {
      // There is no percentage of 0: any worsening is infinite.
      worse = worse > 0 ? 1e9 : worse < 0 ? -1e9 : 0;
    } else {
      worse = 100 * worse / std::abs(baseline);
    }
  } else {
    check.set_unit("points");
    check.set_allowed(tolerance.absolute());
  }
  check.set_worse_by(worse);
  // Rounding errors are not a breach: exactly 5% of 100 is allowed.
  const double slack = 1e-9 * (1 + std::abs(check.allowed()));
  check.set_result(worse > check.allowed() + slack ? BreachName(tolerance)
                                                   : "pass");
  return check;
}

// How much of a change may be chance, given the runs, or comes from the clock
// of the core; 0 if unknown. As a logarithm.
double ChanceOf(const std::string& metric, const RuleJob& job) {
  const auto shift = job.shifts.find(metric);
  return shift == job.shifts.end()
             ? 0
             : shift->second.Limit(job.level) + shift->second.slower_machine;
}

// Whether the runs show that the value got worse: their medians, which are
// reported, their means, which the test is made for, and every run of one side
// against every run of the other.
bool IsProved(const RuleCheck& check, const Tolerance& tolerance, double chance,
              const RuleJob& job) {
  if (chance == 0) return !job.needs_spread;
  const double sign = tolerance.better() == LOWER ? 1 : -1;
  const Shift& shift = job.shifts.at(check.metric());
  const double medians =
      sign * (std::log(check.current() / check.baseline()) - shift.memory);
  // Beyond the clock, the change must still be larger than what is allowed.
  const double allowed =
      sign * std::log1p(sign * check.allowed() / 100) + shift.slower_machine;
  const bool is_apart = shift.order == Shift::Order::kApart ||
                        (shift.order == Shift::Order::kUnlikely &&
                         (shift.knows_memory || shift.HasManyExecutions()));
  return is_apart && medians > std::max(chance, allowed) &&
         sign * shift.log > chance;
}

RuleCheck CheckMetric(const std::string& metric, const Tolerance& tolerance,
                      const RuleJob& job) {
  const auto current = job.current.find(metric);
  const auto baseline = job.baseline.find(metric);
  const bool needs_baseline =
      tolerance.has_percent() || tolerance.has_absolute();
  RuleCheck check;
  if (current == job.current.end() ||
      (needs_baseline && baseline == job.baseline.end())) {
    check.set_result("missing");
    if (current != job.current.end()) check.set_current(current->second);
    if (baseline != job.baseline.end()) check.set_baseline(baseline->second);
  } else if (!needs_baseline) {
    check = CheckBound(tolerance, current->second);
    if (baseline != job.baseline.end()) check.set_baseline(baseline->second);
  } else {
    check = CheckChange(tolerance, baseline->second, current->second);
    const auto shift = job.shifts.find(metric);
    if (shift != job.shifts.end() && shift->second.memory != 0) {
      check.set_result(
          CheckChange(tolerance, baseline->second,
                      current->second * std::exp(-shift->second.memory))
              .result());
    }
  }
  check.set_metric(metric);
  check.set_value_unit(UnitOf(metric, job.item));
  check.set_better(tolerance.better() == HIGHER  ? "higher"
                   : tolerance.better() == LOWER ? "lower"
                                                 : "");
  if (!IsSpeed(metric) || check.result() == "missing") return check;
  const double chance = ChanceOf(metric, job);
  if (!job.disturbed.empty()) {
    check.set_result("disturbed");
    return check;
  }
  // What is worse than the baseline: less throughput, or more time.
  if (chance > 0) {
    check.set_chance_percent(100 * (tolerance.better() == LOWER
                                        ? std::expm1(chance)
                                        : -std::expm1(-chance)));
  }
  if (check.result() != "pass" && tolerance.has_percent()) {
    if (!job.busy.empty()) {
      check.set_result("disturbed");
    } else if (job.floor_percent && check.worse_by() < *job.floor_percent) {
      check.set_result("below_floor");
    } else if (!IsProved(check, tolerance, chance, job)) {
      check.set_result("within_spread");
    }
  }
  return check;
}

std::string CheckText(const RuleCheck& check) {
  if (check.result() == "missing") {
    return absl::StrCat(check.metric(), " is not there any more");
  }
  if (check.unit() == "value") {
    return absl::StrFormat("%s is %g, the limit %g", check.metric(),
                           check.current(), check.allowed());
  }
  const std::string unit =
      check.unit() == "%" ? "%" : absl::StrCat(" ", check.unit());
  std::string text = absl::StrFormat(
      "%s is %.3g%s worse (%s → %s%s), %g%s allowed", check.metric(),
      check.worse_by(), unit, SignificantText(check.baseline(), 4),
      SignificantText(check.current(), 4),
      check.value_unit().empty() ? "" : absl::StrCat(" ", check.value_unit()),
      check.allowed(), unit);
  if (check.result() == "within_spread" && check.has_chance_percent()) {
    if (check.worse_by() > check.chance_percent()) {
      absl::StrAppend(&text,
                      ", but the runs of the two sides overlap, or slower "
                      "memory explains it");
    } else {
      absl::StrAppendFormat(&text,
                            ", but with runs that scatter like these, up to "
                            "%.3g%% may be chance",
                            check.chance_percent());
    }
  }
  return text;
}

void SetEffect(const RuleCheck& check, Verdict* verdict) {
  verdict->set_metric(check.metric());
  if (!check.has_baseline() || !check.has_current()) return;
  Effect* effect = verdict->mutable_effect();
  effect->set_a(check.baseline());
  effect->set_b(check.current());
  if (check.unit() == "%") {
    effect->set_percent(check.worse_by());
    effect->set_low_percent(check.worse_by());
    effect->set_high_percent(check.worse_by());
  }
}

// Sets verdict, codes and reason from the checks whose result is `result`.
bool Conclude(const char* result, const char* word, const char* code,
              Verdict* verdict) {
  std::vector<std::string> reasons;
  std::set<std::string> codes;
  for (const RuleCheck& check : verdict->checks()) {
    if (check.result() != result) continue;
    // The baseline never promised what only the candidate has.
    if (check.result() == "missing" && check.has_current()) continue;
    if (reasons.empty()) SetEffect(check, verdict);
    reasons.push_back(CheckText(check));
    codes.insert(code != nullptr ? code : check.metric());
  }
  if (reasons.empty()) return false;
  verdict->set_verdict(word);
  for (const std::string& each : codes) verdict->add_codes(each);
  verdict->set_reason(absl::StrJoin(reasons, "; "));
  if (std::string(result) == "below_floor") {
    absl::StrAppend(verdict->mutable_reason(),
                    absl::StrFormat("; but less than %.1f%% cannot be seen "
                                    "on this machine",
                                    verdict->floor_percent()));
  }
  return true;
}

bool ConcludeDisturbed(const RuleJob& job, Verdict* verdict) {
  if (!Conclude("disturbed", "cannot_tell", "", verdict)) return false;
  verdict->clear_codes();
  const std::set<std::string> codes(job.disturbances.begin(),
                                    job.disturbances.end());
  for (const std::string& code : codes) verdict->add_codes(code);
  verdict->set_reason(absl::StrCat(
      job.disturbed.empty() ? job.busy : job.disturbed,
      codes.count(kShort) > 0 ? "; measure more items"
                              : "; measure again on a quiet machine",
      job.is_baseline_disturbed ? ", and update the baseline" : ""));
  return true;
}

Verdict JudgeMetrics(const RuleJob& job, const RuleOptions& options) {
  Verdict verdict;
  verdict.set_scope("job");
  verdict.set_job_id(job.job_id);
  verdict.set_job(job.label);
  verdict.set_mode("rules");
  verdict.set_machine_profile(job.machine_profile);
  verdict.set_pairs(1);
  if (job.floor_percent) {
    verdict.set_floor_percent(*job.floor_percent);
    verdict.set_floor_source("calibrated");
  }
  std::set<std::string> names;
  for (const auto& metric : job.current) names.insert(metric.first);
  for (const auto& metric : job.baseline) names.insert(metric.first);
  bool any = false;
  for (const std::string& name : names) {
    const Tolerance* tolerance = ToleranceFor(
        options.tolerances, name, job.job_id, job.label, options.with_tails);
    if (tolerance == nullptr) continue;
    *verdict.add_checks() = CheckMetric(name, *tolerance, job);
    const RuleCheck& check = verdict.checks(verdict.checks_size() - 1);
    any |= check.result() != "missing" || !check.has_current();
  }
  if (!any) {
    verdict.set_verdict("invalid");
    verdict.add_codes(kCodeNoRule);
    verdict.set_reason("no metric with a tolerance is on both sides");
    return verdict;
  }
  if (Conclude("fail", "slower", nullptr, &verdict) ||
      Conclude("below_floor", "cannot_tell", kCodeBelowFloor, &verdict) ||
      Conclude("within_spread", "cannot_tell", kCodeSpread, &verdict) ||
      ConcludeDisturbed(job, &verdict) ||
      Conclude("missing", "cannot_tell", kCodeMissing, &verdict) ||
      Conclude("warn", "same", nullptr, &verdict)) {
    return verdict;
  }
  verdict.set_verdict("same");
  // A time or rate, if there is one.
  const RuleCheck* shown = nullptr;
  for (const RuleCheck& check : verdict.checks()) {
    if (check.result() == "missing") continue;
    const bool is_better = shown == nullptr || (!IsSpeed(shown->metric()) &&
                                                IsSpeed(check.metric()));
    if (is_better) shown = &check;
  }
  if (shown != nullptr) SetEffect(*shown, &verdict);
  verdict.set_reason("every metric is within its tolerance");
  return verdict;
}

}  // namespace

absl::StatusOr<Tolerances> ParseTolerances(
    absl::string_view text, const std::string& file,
    const std::vector<std::string>& others) {
  Tolerances tolerances;
  Places places(file);
  RETURN_IF_ERROR(ParseTextProto(text, file, &tolerances, &places));
  if (tolerances.tolerances_size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": there is no tolerance in it"));
  }
  for (int i = 0; i < tolerances.tolerances_size(); ++i) {
    RETURN_IF_ERROR(CheckTolerance(tolerances.tolerances(i), places,
                                   absl::StrCat("tolerances[", i, "]")));
  }
  std::vector<std::string> known = MetricNames();
  known.insert(known.end(), others.begin(), others.end());
  for (int i = 0; i < tolerances.tolerances_size(); ++i) {
    const std::string& metric = tolerances.tolerances(i).metric();
    const bool is_known = std::any_of(
        known.begin(), known.end(),
        [&](const std::string& name) { return GlobMatches(metric, name); });
    // Other harnesses count what they like.
    if (is_known || absl::StartsWith(metric, kCounterPrefix)) continue;
    return places.Error(
        absl::StrCat("tolerances[", i, "].metric"),
        absl::StrCat("no row, `train` metrics or `eval` file has a number \"",
                     metric, "\"", DidYouMean(metric, known)));
  }
  return tolerances;
}

absl::StatusOr<Tolerances> LoadTolerances(
    const std::string& path, const std::vector<std::string>& others) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseTolerances(text, path, others);
}

const Tolerance* ToleranceFor(const Tolerances& tolerances,
                              const std::string& metric,
                              const std::string& job_id,
                              const std::string& label, bool with_tails) {
  const Tolerance* last = nullptr;
  for (const Tolerance& tolerance : tolerances.tolerances()) {
    if (tolerance.tail() && !with_tails) continue;
    if (!GlobMatches(tolerance.metric(), metric)) continue;
    if (!IsWantedJob(tolerance.jobs(), job_id, label)) continue;
    last = &tolerance;
  }
  return last == nullptr || last->off() ? nullptr : last;
}

Verdict JudgeRules(const RuleJob& job, const RuleOptions& options) {
  Verdict verdict = JudgeMetrics(job, options);
  if (!job.evidence.empty() && verdict.verdict() != "invalid") {
    absl::StrAppend(verdict.mutable_reason(), "; ", job.evidence);
  }
  return verdict;
}

}  // namespace feedrate
