#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/tool/exit_code.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/attempts.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {
namespace {

bool HasCode(const Verdict& verdict, const char* code) {
  return absl::c_linear_search(verdict.codes(), code);
}

// One side ran to the end and the other did not.
bool SideDied(const Verdict& job) {
  if (job.verdict() != "invalid" || HasCode(job, kCodeBothSides)) return false;
  return std::any_of(job.codes().begin(), job.codes().end(), IsFailure);
}

// Neither side ever had anything to compare.
bool IsUnsupported(const Verdict& job) {
  return job.verdict() == "invalid" && HasCode(job, kCodeBothSides) &&
         HasCode(job, kCodeUnsupported);
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
  counts.set_compared(static_cast<int64_t>(jobs.size()) - counts.invalid());
  return counts;
}

std::string CountText(int64_t count, const char* what) {
  return absl::StrCat(count, count == 1 ? " job " : " jobs ", what);
}

// "1 of 10 jobs was compared, 9 were not (no_baseline 7, other_data 2)". Empty
// if all were.
std::string ComparedText(const std::vector<Verdict>& jobs, int64_t judged) {
  std::map<std::string, int64_t> causes;
  for (const Verdict& job : jobs) {
    if (job.verdict() != "invalid") continue;
    ++causes[job.codes().empty() ? "invalid" : absl::StrJoin(job.codes(), "+")];
  }
  if (causes.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [code, count] : causes) {
    parts.push_back(absl::StrCat(code, " ", count));
  }
  const int64_t others = static_cast<int64_t>(jobs.size()) - judged;
  return absl::StrCat(judged, " of ", CountText(jobs.size(), ""),
                      judged == 1 ? "was" : "were", " compared, ", others,
                      others == 1 ? " was not (" : " were not (",
                      absl::StrJoin(parts, ", "), ")");
}

void Decide(ExitCode code, const char* verdict, const std::string& reason,
            Verdict* suite) {
  suite->set_exit_code(static_cast<int>(code));
  suite->set_verdict(verdict);
  suite->set_reason(reason);
}

// The codes of the jobs that decided.
template <typename Has>
void AddCodes(const std::vector<Verdict>& jobs, const Has& decided,
              Verdict* suite) {
  std::set<std::string> codes;
  for (const Verdict& job : jobs) {
    if (decided(job)) codes.insert(job.codes().begin(), job.codes().end());
  }
  for (const std::string& code : codes) suite->add_codes(code);
}

void DecideUndecided(const std::vector<Verdict>& jobs, int64_t undecided,
                     int64_t judged, Verdict* suite) {
  const auto moved =
      std::find_if(jobs.begin(), jobs.end(), [](const Verdict& job) {
        return job.codes_size() == 1 && job.codes(0) == kCodeControlMoved;
      });
  suite->add_codes(moved == jobs.end() ? kCodeTooManyCannotTell
                                       : kCodeControlMoved);
  Decide(ExitCode::kCannotTell, "cannot_tell",
         moved == jobs.end()
             ? absl::StrCat(undecided, " of ", judged,
                            judged == 1 ? " job" : " jobs", " cannot be told")
             : moved->reason().substr(0, moved->reason().find("; otherwise ")),
         suite);
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
  const int64_t judged = counts.compared();
  const int64_t expected =
      jobs.size() - std::count_if(jobs.begin(), jobs.end(), IsUnsupported);
  const int64_t died = std::count_if(jobs.begin(), jobs.end(), SideDied);
  const std::string slower = CountText(counts.slower(), "got worse");
  std::string compared = ComparedText(jobs, judged);
  if (died > 0) {
    AddCodes(jobs, SideDied, &suite);
    Decide(ExitCode::kRunFailed, "invalid",
           absl::StrCat(CountText(died,
                                  "did not run to the end on one side; that is "
                                  "no regression, but nothing else either"),
                        counts.slower() > 0 ? absl::StrCat("; ", slower) : ""),
           &suite);
  } else if (counts.slower() > 0) {
    AddCodes(
        jobs, [](const Verdict& job) { return job.verdict() == "slower"; },
        &suite);
    Decide(ExitCode::kCheckSaidNo, "slower", slower, &suite);
  } else if (judged == 0) {
    suite.add_codes(kCodeNothingComparable);
    Decide(ExitCode::kInvalid, "invalid",
           absl::StrCat("nothing is comparable",
                        jobs.empty() ? ": there are no rows"
                                     : absl::StrCat(": ", jobs[0].reason())),
           &suite);
    compared.clear();
  } else if (100.0 * judged < options.min_compared_percent * expected) {
    suite.add_codes(kCodeTooFewCompared);
    Decide(ExitCode::kCannotTell, "cannot_tell",
           absl::StrCat(compared, "; at least ", options.min_compared_percent,
                        "% must be (--min-compared)"),
           &suite);
    compared.clear();
  } else if (counts.cannot_tell() > 0 &&
             (judged == 1 || 100.0 * counts.cannot_tell() >
                                 options.max_cannot_tell_percent * judged)) {
    DecideUndecided(jobs, counts.cannot_tell(), judged, &suite);
  } else {
    Decide(ExitCode::kDone, counts.faster() > 0 ? "faster" : "same",
           counts.faster() > 0
               ? CountText(counts.faster(), "got faster, none slower")
               : "nothing got slower",
           &suite);
  }
  if (!compared.empty()) {
    absl::StrAppend(suite.mutable_reason(), "; ", compared);
  }
  return suite;
}

bool IsError(const Verdict& job, const Verdict& suite) {
  if (job.verdict() != "invalid" || IsUnsupported(job)) return false;
  return SideDied(job) || HasCode(suite, kCodeTooFewCompared) ||
         HasCode(suite, kCodeNothingComparable);
}

ExitCode ExitCodeOfSuite(const Verdict& suite) {
  return static_cast<ExitCode>(suite.exit_code());
}

}  // namespace feedrate
