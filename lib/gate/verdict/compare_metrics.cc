#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "lib/base/status_macros.h"
#include "lib/gate/baselines.h"
#include "lib/gate/shift.h"
#include "lib/gate/verdict/compare_stored.h"
#include "lib/gate/verdict/rule_verdicts.h"
#include "lib/gate/verdict/verdicts.h"

namespace feedrate {

Verdict InvalidVerdict(const std::string& job_id, const std::string& label,
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

namespace {

// The part of `profile` that is different in `other`, such as "torch2.12, not
// torch2.11"; "" if more than one is.
std::string ProfileDifference(const std::string& profile,
                              const std::string& other) {
  const std::vector<std::string> parts = absl::StrSplit(profile, '_');
  const std::vector<std::string> others = absl::StrSplit(other, '_');
  if (parts.size() != others.size()) return "";
  std::string difference;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == others[i]) continue;
    if (!difference.empty()) return "";
    difference = absl::StrCat(others[i], ", not ", parts[i]);
  }
  return difference;
}

}  // namespace

absl::StatusOr<std::string> NoBaselineText(const std::string& profile,
                                           const std::string& kind,
                                           const BaselineStore& store) {
  ASSIGN_OR_RETURN(std::vector<std::string> profiles, store.Profiles());
  if (profile.empty()) {
    return absl::StrCat("the ", kind, " do not say which machine they are of");
  }
  const std::string start = absl::StrCat(store.folder(), " has no ", kind,
                                         " baseline of machine ", profile);
  if (std::count(profiles.begin(), profiles.end(), profile) > 0) {
    return absl::StrCat(start,
                        ", only results of other kinds; make one with "
                        "--update-baseline");
  }
  for (std::string& other : profiles) {
    const std::string difference = ProfileDifference(profile, other);
    if (!difference.empty()) absl::StrAppend(&other, " (", difference, ")");
  }
  return absl::StrCat(start, "; ",
                      profiles.empty()
                          ? "there is none at all"
                          : absl::StrCat("there are baselines of ",
                                         absl::StrJoin(profiles, ", ")));
}

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
  for (const auto& list : file.lists) {
    if (ToleranceFor(options.tolerances, list.first, "", kind, true)) {
      return wrong(list.first, "a list, not a number");
    }
  }
  for (const auto& metric : file.metrics) {
    const Tolerance* const tolerance =
        ToleranceFor(options.tolerances, metric.first, "", kind, true);
    if (tolerance && tolerance->has_percent() && metric.second < 0) {
      return wrong(metric.first, "below 0");
    }
    // Writers print 0 for what was not measured, which would look fastest.
    if (tolerance && tolerance->has_percent() && metric.second == 0 &&
        tolerance->better() == LOWER && IsSpeed(metric.first) &&
        !absl::EndsWith(metric.first, "_share")) {
      return wrong(metric.first, "no time above 0");
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

// What the files were measured on, where the baseline says so and the other
// file does not say the same. Otherwise empty.
std::string OtherTexts(const MetricsFile& current,
                       const MetricsFile& baseline) {
  for (const char* key : {"model", "library_version", "job_id"}) {
    const auto now = current.texts.find(key);
    const auto stored = baseline.texts.find(key);
    if (stored == baseline.texts.end()) continue;
    const std::string known = now == current.texts.end() ? "" : now->second;
    if (known == stored->second) continue;
    return absl::StrCat("the baseline is of ", key, " ", stored->second,
                        ", the file of ", known.empty() ? "none" : known,
                        "; compare like with like, or update the baseline");
  }
  return "";
}

// What `train --metrics` says of its runs: MetricsJson in lib/runner/train.
constexpr char kRuns[] = "runs";
constexpr char kDisturbedRuns[] = "disturbed_runs";
constexpr char kWarnings[] = "warnings";
constexpr char kOfRuns[] = "of_runs.";

double NumberOf(const MetricsFile& file, const char* name) {
  const auto found = file.metrics.find(name);
  return found == file.metrics.end() ? 0 : found->second;
}

// The same rule as for rows. Empty if the file does not say that its runs were
// disturbed.
std::string DisturbedText(const MetricsFile& file, const char* side,
                          std::vector<std::string>* codes) {
  const double runs = NumberOf(file, kRuns);
  const double disturbed = NumberOf(file, kDisturbedRuns);
  const auto warnings = file.texts.find(kWarnings);
  if (disturbed <= 0 || 2 * disturbed < runs || warnings == file.texts.end()) {
    return "";
  }
  const std::vector<std::string> causes =
      absl::StrSplit(warnings->second, ' ', absl::SkipEmpty());
  codes->insert(codes->end(), causes.begin(), causes.end());
  return absl::StrCat(disturbed, " of ", runs, runs == 1 ? " run" : " runs",
                      " of ", side, disturbed == 1 ? " is " : " are ",
                      absl::StrJoin(causes, " and "));
}

// What the runs of both files say about chance.
void AddRuns(const MetricsFile& current, const MetricsFile& baseline,
             RuleJob* job) {
  job->disturbed = DisturbedText(current, "the file", &job->disturbances);
  const std::string stored =
      DisturbedText(baseline, "the baseline", &job->disturbances);
  job->is_baseline_disturbed = !stored.empty();
  absl::StrAppend(&job->disturbed,
                  job->disturbed.empty() || stored.empty() ? "" : "; ", stored);
  job->level = kSuiteLevel;
  for (const auto& [name, values] : current.lists) {
    absl::string_view metric = name;
    const auto before = baseline.lists.find(name);
    if (!absl::ConsumePrefix(&metric, kOfRuns) ||
        before == baseline.lists.end()) {
      continue;
    }
    const absl::optional<Shift> shift = ShiftOfRuns(before->second, values);
    if (shift && IsSpeed(std::string(metric))) {
      // They are of one `train` each, and how executions differ is not known.
      job->shifts[std::string(metric)] = shift->AcrossExecutions();
    }
  }
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
    return InvalidVerdict("", kind, profile, kCodeNoBaseline, reason);
  }
  const std::string mismatch = OtherTexts(current, *baseline);
  if (!mismatch.empty()) {
    return InvalidVerdict("", kind, profile, kCodeOtherJob, mismatch);
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
  AddRuns(current, *baseline, &job);
  return JudgeRules(job, options);
}

}  // namespace feedrate
