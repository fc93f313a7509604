#include "lib/analysis/coverage_judge.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/analysis/coverage_codes.h"
#include "lib/analysis/coverage_findings.h"
#include "lib/analysis/coverage_groups.h"
#include "lib/analysis/coverage_hardware.h"
#include "lib/analysis/coverage_plausible.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_book.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/policy.pb.h"
#include "lib/planning/jobs.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr char kHostCpu[] = "host_cpu";

class Judge {
 public:
  Judge(const PlannedJobs& jobs, const RowBook& book,
        const Catalogue& catalogue, CoverageFindings* findings,
        Coverage* record)
      : jobs_(jobs),
        book_(book),
        catalogue_(catalogue),
        policy_(catalogue.policy().coverage()),
        findings_(*findings),
        record_(*record) {}

  void Run() {
    for (int i = 0; i < jobs_.size(); ++i) JudgeJob(i);
    JudgeStrays();
    FindIdentical(jobs_, book_, catalogue_, &findings_);
    FindFastVideo(jobs_, book_, catalogue_, &findings_);
    groups_.AddFewRuns(catalogue_.policy().runs().warn_below(), &findings_);
    Count();
  }

 private:
  void JudgeJob(int index) {
    index_ = index;
    job_ = jobs_.Get(index);
    flags_ = {};
    for (const RunState& run : book_.runs(index)) {
      NoteAnswer(book_.Text(run.status));
      // Runs beyond the plan are welcome, and nobody's business.
      if (jobs_.HasRun(index, run.run_index)) JudgeRun(run);
    }
    JudgeAbsent();
    JudgeSettings();
    groups_.Add(job_, flags_, OkRuns());
  }

  void Blame(CoverageCode code, const RunState& run, const std::string& what) {
    findings_.AddRun(code, index_, job_, run.run_index, book_.Place(run), what);
  }

  void JudgeRun(const RunState& run) {
    const std::string& status = book_.Text(run.status);
    if (!IsDone(status)) {
      flags_.failed = true;
      return Blame(CoverageCode::kFailed, run, WhyFailed(run));
    }
    if (run.difference != 0) {
      Blame(
          run.other_batch ? CoverageCode::kBatchSize : CoverageCode::kSettings,
          run, book_.Text(run.difference));
    }
    JudgeSupport(run, status);
    JudgeTies(run);
    if (status == "unsupported") return;
    const std::string hardware = HardwareProblem(job_, run, book_, catalogue_);
    if (!hardware.empty()) Blame(CoverageCode::kWrongHardware, run, hardware);
    if (status == "ok") JudgeNumbers(run);
  }

  // These answer for runs that nobody made.
  void NoteAnswer(const std::string& status) {
    flags_.early_stopped |= status == "early_stopped";
    flags_.unsupported |=
        status == "unsupported" && job_.has_unsupported_reason();
  }

  std::string WhyFailed(const RunState& run) const {
    std::string what = absl::StrCat("status is ", book_.Text(run.status));
    if (run.attempt > 0) {
      absl::StrAppend(&what, " after ", run.attempt + 1, " attempts");
    }
    const std::string& reason = book_.Text(run.reason);
    return reason.empty() ? what : absl::StrCat(what, ": ", reason);
  }

  void JudgeSupport(const RunState& run, const std::string& status) {
    const bool says_unsupported = status == "unsupported";
    if (says_unsupported == job_.has_unsupported_reason()) return;
    if (says_unsupported) {
      const std::string& reason = book_.Text(run.reason);
      return Blame(CoverageCode::kUnsupported, run,
                   absl::StrCat("the row says unsupported, the matrix does not",
                                reason.empty() ? "" : ": ", reason));
    }
    Blame(CoverageCode::kSupported, run,
          absl::StrCat("the row is ", status, ", the matrix says unsupported: ",
                       job_.unsupported_reason()));
  }

  void JudgeTies(const RunState& run) {
    const Ties* ties = book_.FindTies(index_, run);
    if (ties == nullptr) return;
    const std::string differences =
        book_.settings().Differences(ties->settings);
    if (!differences.empty()) {
      return Blame(CoverageCode::kDuplicate, run,
                   absl::StrCat(ties->rows, " rows of one attempt differ in ",
                                differences));
    }
    Blame(CoverageCode::kRepeated, run,
          absl::StrCat(ties->rows, " rows of one attempt",
                       ties->numbers_differ ? ", measured anew"
                                            : ", copies of each other"));
  }

  void JudgeNumbers(const RunState& run) {
    if (run.noop) {
      Blame(CoverageCode::kNoop, run, "the output is the input");
    }
    if (run.zero) {
      return Blame(CoverageCode::kZero, run,
                   "time, median, rate or number of items is 0 in an ok row");
    }
    if (run.of_limit > policy_.limit_slack()) {
      Blame(CoverageCode::kAboveLimit, run,
            absl::StrFormat("throughput is %.3g times the row's own limit; at "
                            "most %g is believed",
                            run.of_limit, policy_.limit_slack()));
    }
    JudgeCopy(run);
  }

  void JudgeCopy(const RunState& run) {
    // A GPU's memory is not the run's; its own copy is the limit of its rows.
    if (job_.device() == "cuda" && job_.hardware_class() != "host_cpu") {
      ++rows_without_copy_limit_;
      return;
    }
    const int threads = ThreadsOf(job_, book_.Machine(run), catalogue_);
    const double allowed = book_.CopyBytesPerS(run) * threads;
    if (run.item_bytes <= 0 || allowed <= 0) {
      ++rows_without_copy_limit_;
      return;
    }
    const double moved = run.throughput * run.item_bytes;
    if (moved <= policy_.copy_slack() * allowed) return;
    Blame(CoverageCode::kAboveCopy, run,
          absl::StrFormat(
              "%.4g items/s of at least %.3g bytes are %.3g GB/s; the run "
              "copies %.3g GB/s in a thread and may use %d",
              run.throughput, run.item_bytes, moved / 1e9,
              book_.CopyBytesPerS(run) / 1e9, threads));
  }

  // Runs of the plan without any row.
  void JudgeAbsent() {
    const std::vector<RunState>& there = book_.runs(index_);
    if (flags_.early_stopped || flags_.unsupported) return;
    for (const int32_t run : jobs_.runs(index_)) {
      const auto is_this = [run](const RunState& state) {
        return state.run_index == run;
      };
      if (std::any_of(there.begin(), there.end(), is_this)) continue;
      const bool none = there.empty();
      flags_.missing |= none;
      flags_.partial |= !none;
      findings_.AddRun(
          none ? CoverageCode::kMissing : CoverageCode::kTooFewRuns, index_,
          job_, run, "",
          none ? "no row"
               : absl::StrCat("not all of ", jobs_.runs(index_).size(),
                              " planned runs have a row"));
    }
  }

  // Settings over all runs that were made, apart for the host's CPU.
  void JudgeSettings() {
    for (const bool host : {false, true}) {
      std::vector<uint32_t> settings;
      const RunState* last = nullptr;
      for (const RunState& run : book_.runs(index_)) {
        const std::string& status = book_.Text(run.status);
        const bool ran = status == "ok" || status == "early_stopped";
        if (!ran || (book_.Text(run.hardware_class) == kHostCpu) != host) {
          continue;
        }
        settings.push_back(run.settings);
        last = &run;
      }
      const std::string differences = book_.settings().Differences(settings);
      if (differences.empty()) continue;
      Blame(CoverageCode::kMixed, *last,
            absl::StrCat("runs differ in ", differences));
    }
  }

  size_t OkRuns() const {
    std::set<int32_t> measured;
    for (const RunState& run : book_.runs(index_)) {
      if (book_.Text(run.status) == "ok") measured.insert(run.run_index);
    }
    return measured.size();
  }

  // Rows of no job that would be of one with other settings.
  void JudgeStrays() {
    for (const auto& [key, stray] : book_.strays()) {
      findings_.Add(stray.other_batch ? CoverageCode::kBatchSize
                                      : CoverageCode::kOtherSettings,
                    Subject(jobs_.Get(key.first)), stray.place,
                    absl::StrCat(stray.rows,
                                 stray.rows == 1 ? " row of no planned job: "
                                                 : " rows of no planned job: ",
                                 key.second));
    }
  }

  void Count() {
    record_.set_jobs(jobs_.size());
    record_.set_runs(jobs_.total_runs());
    record_.set_runs_complete(jobs_.total_runs() - findings_.total_gaps());
    record_.set_rows(book_.rows());
    record_.set_unplanned_rows(book_.unplanned_rows());
    record_.set_replaced_rows(book_.replaced_rows());
    record_.set_rows_without_copy_limit(rows_without_copy_limit_);
    groups_.WriteTo(findings_, &record_);
  }

  const PlannedJobs& jobs_;
  const RowBook& book_;
  const Catalogue& catalogue_;
  const CoveragePolicy& policy_;
  CoverageFindings& findings_;
  Coverage& record_;

  // The job that is judged.
  int index_ = 0;
  Job job_;
  JobFlags flags_;

  CoverageGroups groups_;
  int64_t rows_without_copy_limit_ = 0;
};

}  // namespace

void JudgeCoverage(const PlannedJobs& jobs, const RowBook& book,
                   const Catalogue& catalogue, CoverageFindings* findings,
                   Coverage* record) {
  Judge(jobs, book, catalogue, findings, record).Run();
}

}  // namespace feedrate
