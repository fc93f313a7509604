#include "lib/gate/suite.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "lib/gate/codes.h"

namespace feedrate {
namespace {

bool SideDied(const Verdict& job) {
  for (const std::string& code : job.codes()) {
    if (code == kCodeCrashed || code == kCodeFailed || code == kCodeTimeout ||
        code == kCodeOom) {
      return job.verdict() == "invalid";
    }
  }
  return false;
}

VerdictCounts CountsOf(const std::vector<Verdict>& jobs) {
  VerdictCounts counts;
  for (const Verdict& job : jobs) {
    if (job.verdict() == "same") counts.set_same(counts.same() + 1);
    if (job.verdict() == "faster") counts.set_faster(counts.faster() + 1);
    if (job.verdict() == "slower") counts.set_slower(counts.slower() + 1);
    if (job.verdict() == "cannot_tell") {
      counts.set_cannot_tell(counts.cannot_tell() + 1);
    }
    if (job.verdict() == "invalid") counts.set_invalid(counts.invalid() + 1);
  }
  return counts;
}

std::string CountText(int64_t count, const char* what) {
  return absl::StrCat(count, count == 1 ? " job " : " jobs ", what);
}

void Decide(ExitCode code, const char* verdict, const std::string& reason,
            Verdict* suite) {
  suite->set_exit_code(static_cast<int>(code));
  suite->set_verdict(verdict);
  suite->set_reason(reason);
}

}  // namespace

Verdict SuiteVerdict(const std::vector<Verdict>& jobs,
                     const SuiteOptions& options) {
  Verdict suite;
  suite.set_scope("suite");
  if (!jobs.empty()) {
    suite.set_mode(jobs[0].mode());
    suite.set_machine_profile(jobs[0].machine_profile());
    if (jobs[0].has_level()) suite.set_level(jobs[0].level());
  }
  const VerdictCounts counts = CountsOf(jobs);
  *suite.mutable_counts() = counts;
  const int64_t judged =
      counts.same() + counts.faster() + counts.slower() + counts.cannot_tell();
  const int64_t died = std::count_if(jobs.begin(), jobs.end(), SideDied);
  std::set<std::string> codes;
  if (died > 0) {
    for (const Verdict& job : jobs) {
      if (SideDied(job)) codes.insert(job.codes().begin(), job.codes().end());
    }
    Decide(ExitCode::kRunFailed, "invalid",
           CountText(died,
                     "did not run to the end on one side; that is no "
                     "regression, but nothing else either"),
           &suite);
  } else if (counts.slower() > 0) {
    for (const Verdict& job : jobs) {
      if (job.verdict() != "slower") continue;
      codes.insert(job.codes().begin(), job.codes().end());
    }
    Decide(ExitCode::kCheckSaidNo, "slower",
           CountText(counts.slower(), "got worse"), &suite);
  } else if (judged == 0) {
    codes.insert(kCodeNothingComparable);
    Decide(ExitCode::kInvalid, "invalid",
           absl::StrCat("nothing is comparable",
                        jobs.empty() ? ": there are no rows"
                                     : absl::StrCat(": ", jobs[0].reason())),
           &suite);
  } else if (counts.cannot_tell() > 0 &&
             (judged == 1 || 100.0 * counts.cannot_tell() >
                                 options.max_cannot_tell_percent * judged)) {
    codes.insert(kCodeTooManyCannotTell);
    Decide(ExitCode::kCannotTell, "cannot_tell",
           absl::StrCat(counts.cannot_tell(), " of ", judged,
                        judged == 1 ? " job" : " jobs", " cannot be told"),
           &suite);
  } else {
    Decide(ExitCode::kDone, counts.faster() > 0 ? "faster" : "same",
           counts.faster() > 0
               ? CountText(counts.faster(), "got faster, none slower")
               : "nothing got slower",
           &suite);
  }
  for (const std::string& code : codes) suite.add_codes(code);
  return suite;
}

ExitCode ExitCodeOfSuite(const Verdict& suite) {
  return static_cast<ExitCode>(suite.exit_code());
}

}  // namespace feedrate
