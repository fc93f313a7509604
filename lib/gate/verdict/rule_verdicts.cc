#include "lib/gate/verdict/rule_verdicts.h"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/config/places.h"
#include "lib/config/text_proto.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/verdicts.h"

namespace feedrate {
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

}  // namespace

absl::StatusOr<Tolerances> ParseTolerances(absl::string_view text,
                                           const std::string& file) {
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
  return tolerances;
}

absl::StatusOr<Tolerances> LoadTolerances(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseTolerances(text, path);
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

namespace {

// Calibrated floors apply to times and rates only.
bool IsSpeed(const std::string& metric) {
  return metric == "throughput" || absl::StrContains(metric, "_per_sec") ||
         absl::StrContains(metric, "step_time") || absl::EndsWith(metric, "_s");
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

}  // namespace

Verdict JudgeRules(const RuleJob& job, const RuleOptions& options) {
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

namespace {

Verdict Invalid(const std::string& job_id, const std::string& label,
                const std::string& profile, const std::string& code,
                const std::string& reason) {
  Verdict verdict;
  verdict.set_scope("job");
  verdict.set_job_id(job_id);
  verdict.set_job(label);
  verdict.set_mode("rules");
  verdict.set_machine_profile(profile);
  verdict.set_verdict("invalid");
  verdict.add_codes(code);
  verdict.set_reason(reason);
  return verdict;
}

absl::StatusOr<std::string> NoBaselineText(const std::string& profile,
                                           const std::string& kind,
                                           const BaselineStore& store) {
  ASSIGN_OR_RETURN(const std::vector<std::string> profiles, store.Profiles());
  return absl::StrCat(
      "no ", kind, " baseline of machine ",
      profile.empty() ? "\"\" (the rows do not say which)" : profile, " in ",
      store.folder(), "; ",
      profiles.empty() ? "there is none at all"
                       : absl::StrCat("there are baselines of ",
                                      absl::StrJoin(profiles, ", ")));
}

bool EndedBadly(const std::string& status) {
  return status != "ok" && status != kCodeUnsupported &&
         status != kCodeEarlyStopped;
}

bool HasStatus(const std::vector<Row>& rows, const std::string& status) {
  for (const Row& row : rows) {
    if (row.status() == status) return true;
  }
  return false;
}

Verdict JudgeJob(const std::vector<Row>& current,
                 const std::vector<Row>& baseline,
                 const std::map<std::string, double>& floors,
                 const RuleOptions& options) {
  const Row& row = current[0];
  const std::string label = JobLabel(row);
  const std::string& profile = row.machine_profile();
  for (const Row& run : current) {
    if (!EndedBadly(run.status())) continue;
    return Invalid(
        row.job_id(), label, profile, run.status(),
        absl::StrCat("run ", run.run_index(), " ", run.status(),
                     run.reason().empty() ? "" : ": ", run.reason()));
  }
  if (!HasStatus(current, "ok")) {
    Verdict verdict = Invalid(row.job_id(), label, profile, row.status(),
                              absl::StrCat("no run is ok: ", row.reason()));
    if (row.status() == kCodeEarlyStopped && HasStatus(baseline, "ok")) {
      verdict.set_verdict("cannot_tell");
      verdict.set_reason("stopped early, which the baseline did not");
    }
    return verdict;
  }
  RuleJob job;
  job.job_id = row.job_id();
  job.label = label;
  job.machine_profile = profile;
  job.current = MetricsOfRows(current);
  job.baseline = MetricsOfRows(baseline);
  const auto floor = floors.find(job.job_id);
  if (floor != floors.end()) job.floor_percent = floor->second;
  Verdict verdict = JudgeRules(job, options);
  verdict.set_pairs(static_cast<int64_t>(current.size()));
  return verdict;
}

}  // namespace

absl::Status CheckMetrics(const MetricsFile& file, const std::string& kind,
                          const RuleOptions& options) {
  const auto wrong = [&file](const std::string& metric,
                             const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.name, ":", file.lines.at(metric), ": ", metric, " is ", what,
        "; it was changed by hand, so restore or update it"));
  };
  for (const auto& other : file.others) {
    if (ToleranceFor(options.tolerances, other.first, "", kind, true)) {
      return wrong(other.first, other.second + ", not a number");
    }
  }
  for (const auto& metric : file.metrics) {
    const Tolerance* const tolerance =
        ToleranceFor(options.tolerances, metric.first, "", kind, true);
    if (tolerance && tolerance->has_percent() && metric.second < 0) {
      return wrong(metric.first, "below 0");
    }
  }
  return absl::OkStatus();
}

namespace {

// A baseline without a metric that the candidate is judged by would let any
// value of it pass.
absl::Status CheckNoneMissing(const MetricsFile& baseline,
                              const MetricsFile& current,
                              const std::string& kind,
                              const RuleOptions& options) {
  for (const auto& metric : current.metrics) {
    const Tolerance* const tolerance = ToleranceFor(
        options.tolerances, metric.first, "", kind, options.with_tails);
    if (tolerance == nullptr || tolerance->severity() == WARN ||
        !(tolerance->has_percent() || tolerance->has_absolute()) ||
        baseline.metrics.count(metric.first) > 0) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(baseline.name, ": ", metric.first, " is missing, but ",
                     current.name, " has it; restore or update the baseline"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Verdict> CompareMetrics(const MetricsFile& current,
                                       const std::string& kind,
                                       const BaselineStore& store,
                                       const RuleOptions& options) {
  const std::string& profile = current.machine_profile;
  absl::optional<MetricsFile> baseline;
  if (kind == "eval") {
    ASSIGN_OR_RETURN(baseline, store.ReadEval(profile));
  } else {
    ASSIGN_OR_RETURN(baseline, store.ReadMetrics(profile));
  }
  if (!baseline) {
    ASSIGN_OR_RETURN(const std::string reason,
                     NoBaselineText(profile, kind, store));
    return Invalid("", kind, profile, kCodeNoBaseline, reason);
  }
  RETURN_IF_ERROR(CheckMetrics(current, kind, options));
  RETURN_IF_ERROR(CheckMetrics(*baseline, kind, options));
  RETURN_IF_ERROR(CheckNoneMissing(*baseline, current, kind, options));
  ASSIGN_OR_RETURN(const std::vector<Calibration> calibrations,
                   store.ReadCalibrations(profile));
  const std::map<std::string, double> floors = FloorsOf(calibrations);
  RuleJob job;
  job.label = kind;
  job.machine_profile = profile;
  job.current = current.metrics;
  job.baseline = baseline->metrics;
  const auto floor = floors.find(kind);
  if (floor != floors.end()) job.floor_percent = floor->second;
  return JudgeRules(job, options);
}

absl::StatusOr<std::vector<Verdict>> CompareRows(const std::vector<Row>& rows,
                                                 const BaselineStore& store,
                                                 const RuleOptions& options) {
  std::map<std::string, std::vector<Row>> by_profile;
  for (const Row& row : rows) {
    // The library `null` measures the harness itself.
    if (row.library() == "null") continue;
    by_profile[row.machine_profile()].push_back(row);
  }
  std::vector<Verdict> verdicts;
  for (const auto& part : by_profile) {
    const std::string& profile = part.first;
    const RowsByJob current = LastAttempts(part.second);
    ASSIGN_OR_RETURN(const absl::optional<RowsByJob> baseline,
                     store.ReadRows(profile));
    if (!baseline) {
      ASSIGN_OR_RETURN(const std::string reason,
                       NoBaselineText(profile, "rows", store));
      for (const auto& job : current) {
        verdicts.push_back(Invalid(job.first, JobLabel(job.second[0]), profile,
                                   kCodeNoBaseline, reason));
      }
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<Calibration> calibrations,
                     store.ReadCalibrations(profile));
    const std::map<std::string, double> floors = FloorsOf(calibrations);
    for (const auto& job : current) {
      const auto found = baseline->find(job.first);
      verdicts.push_back(
          found == baseline->end()
              ? Invalid(job.first, JobLabel(job.second[0]), profile,
                        kCodeNoBaseline, "the baseline does not have this job")
              : JudgeJob(job.second, found->second, floors, options));
    }
    for (const auto& job : *baseline) {
      if (current.count(job.first) > 0) continue;
      if (job.second[0].library() == "null") continue;
      verdicts.push_back(Invalid(job.first, JobLabel(job.second[0]), profile,
                                 kCodeNotRun,
                                 "the baseline has this job, the rows do not"));
    }
  }
  return verdicts;
}

}  // namespace feedrate
