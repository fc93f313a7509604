#include "lib/gate/judge_rules.h"

#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/gate/codes.h"
#include "lib/gate/tolerances.h"

namespace feedrate {
namespace {

// Times and rates are what a calibration knows the floor of.
bool IsSpeed(const std::string& metric) {
  return metric == "throughput" || absl::StrContains(metric, "_per_sec") ||
         absl::StrContains(metric, "step_time") || absl::EndsWith(metric, "_s");
}

std::string BreachName(const Tolerance& tolerance) {
  return tolerance.severity() == WARN ? "warn" : "fail";
}

// Against a bound that needs no baseline.
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
      // No percentage of nothing: any worsening is without bound.
      worse = worse > 0 ? 1e9 : worse < 0 ? -1e9 : 0;
    } else {
      worse = 100 * worse / std::abs(baseline);
    }
  } else {
    check.set_unit("points");
    check.set_allowed(tolerance.absolute());
  }
  check.set_worse_by(worse);
  // A hair of rounding is no breach: 5% of 100 is allowed.
  const double slack = 1e-9 * (1 + std::abs(check.allowed()));
  check.set_result(worse > check.allowed() + slack ? BreachName(tolerance)
                                                   : "pass");
  return check;
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
    const bool is_breach = check.result() != "pass";
    if (is_breach && job.floor_percent && tolerance.has_percent() &&
        IsSpeed(metric) && check.worse_by() < *job.floor_percent) {
      check.set_result("below_floor");
    }
  }
  check.set_metric(metric);
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
  return absl::StrFormat("%s is %.3g%s worse (%g → %g), %g%s allowed",
                         check.metric(), check.worse_by(), unit,
                         check.baseline(), check.current(), check.allowed(),
                         unit);
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

// Sets verdict, codes and reason from those checks whose result is `result`.
bool Conclude(const char* result, const char* word, const char* code,
              Verdict* verdict) {
  std::vector<std::string> reasons;
  std::set<std::string> codes;
  for (const RuleCheck& check : verdict->checks()) {
    if (check.result() != result) continue;
    // What only the candidate has was never promised.
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

}  // namespace

Verdict JudgeRules(const RuleJob& job, const RuleOptions& options) {
  Verdict verdict;
  verdict.set_scope("job");
  verdict.set_job_id(job.job_id);
  verdict.set_job(job.words);
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
        options.tolerances, name, job.job_id, job.words, options.with_tails);
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
      Conclude("missing", "cannot_tell", kCodeMissing, &verdict) ||
      Conclude("warn", "same", nullptr, &verdict)) {
    return verdict;
  }
  verdict.set_verdict("same");
  for (const RuleCheck& check : verdict.checks()) {
    if (check.result() == "missing") continue;
    SetEffect(check, &verdict);
    break;
  }
  verdict.set_reason("every metric is within its tolerance");
  return verdict;
}

}  // namespace feedrate
