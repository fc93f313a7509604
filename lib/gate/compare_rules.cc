#include "lib/gate/compare_rules.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/gate/codes.h"
#include "lib/gate/job_words.h"

namespace feedrate {
namespace {

Verdict Invalid(const std::string& job_id, const std::string& words,
                const std::string& profile, const std::string& code,
                const std::string& reason) {
  Verdict verdict;
  verdict.set_scope("job");
  verdict.set_job_id(job_id);
  verdict.set_job(words);
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
  const std::string words = JobWords(row);
  const std::string& profile = row.machine_profile();
  for (const Row& run : current) {
    if (!EndedBadly(run.status())) continue;
    return Invalid(
        row.job_id(), words, profile, run.status(),
        absl::StrCat("run ", run.run_index(), " ", run.status(),
                     run.reason().empty() ? "" : ": ", run.reason()));
  }
  if (!HasStatus(current, "ok")) {
    Verdict verdict = Invalid(row.job_id(), words, profile, row.status(),
                              absl::StrCat("no run is ok: ", row.reason()));
    if (row.status() == kCodeEarlyStopped && HasStatus(baseline, "ok")) {
      verdict.set_verdict("cannot_tell");
      verdict.set_reason("stopped early, which the baseline did not");
    }
    return verdict;
  }
  RuleJob job;
  job.job_id = row.job_id();
  job.words = words;
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
  ASSIGN_OR_RETURN(const std::vector<Calibration> calibrations,
                   store.ReadCalibrations(profile));
  const std::map<std::string, double> floors = FloorsOf(calibrations);
  RuleJob job;
  job.words = kind;
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
    // What the harness itself costs; nobody's regression.
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
        verdicts.push_back(Invalid(job.first, JobWords(job.second[0]), profile,
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
              ? Invalid(job.first, JobWords(job.second[0]), profile,
                        kCodeNoBaseline, "the baseline does not have this job")
              : JudgeJob(job.second, found->second, floors, options));
    }
    for (const auto& job : *baseline) {
      if (current.count(job.first) > 0) continue;
      if (job.second[0].library() == "null") continue;
      verdicts.push_back(Invalid(job.first, JobWords(job.second[0]), profile,
                                 kCodeNotRun,
                                 "the baseline has this job, the rows do not"));
    }
  }
  return verdicts;
}

}  // namespace feedrate
