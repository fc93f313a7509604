#include "lib/analysis/coverage/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/analysis/coverage/findings.h"
#include "lib/analysis/coverage/measured_runs.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/planning/jobs.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

enum class Kind { kUnknown, kCpu, kGpu };

// Channels of the images in files; more are made by repeating them.
constexpr int kFileChannels = 3;

Kind KindOf(const MachineFacts* facts, absl::string_view profile) {
  if (facts != nullptr) return facts->has_gpu ? Kind::kGpu : Kind::kCpu;
  if (profile.empty()) return Kind::kUnknown;
  return IsGpuProfile(profile) ? Kind::kGpu : Kind::kCpu;
}

// Whether the matrix runs this job on the CPU of a GPU machine if cuda is
// requested.
bool MayRunOnHost(const Job& job, const Catalogue& catalogue) {
  if (job.hardware_class() == kHostCpu) return true;
  const Combination* on_cuda = catalogue.FindCombination(
      job.scenario(), job.library(), job.mode(), "cuda", job.scope());
  return on_cuda != nullptr && on_cuda->status() == HOST_CPU;
}

std::string Named(absl::string_view profile) {
  return profile.empty() ? "" : absl::StrCat(" (", profile, ")");
}

std::string CpuRowProblem(const Job& job, const Catalogue& catalogue, Kind kind,
                          absl::string_view row_class,
                          absl::string_view profile) {
  if (row_class == "gpu") return "hardware_class is gpu, planned is cpu";
  const bool may_run_on_host = MayRunOnHost(job, catalogue);
  if (row_class == kHostCpu && !may_run_on_host) {
    return absl::StrCat("a CPU row from a GPU machine", Named(profile),
                        ": only clips may use the host's CPU, and only of "
                        "libraries that the matrix says so of");
  }
  if (kind == Kind::kGpu && !may_run_on_host) {
    return absl::StrCat("a CPU row from a GPU machine", Named(profile));
  }
  if (kind == Kind::kGpu && row_class != kHostCpu && !row_class.empty()) {
    return absl::StrCat("measured on the CPU of a GPU machine", Named(profile),
                        " but not called host_cpu");
  }
  if (kind == Kind::kCpu &&
      (row_class == kHostCpu || job.hardware_class() == kHostCpu)) {
    return absl::StrCat(
        "planned on the CPU of a GPU machine, measured on one "
        "without a GPU",
        Named(profile));
  }
  return "";
}

}  // namespace

bool IsGpuProfile(absl::string_view machine_profile) {
  for (absl::string_view part : absl::StrSplit(machine_profile, '_')) {
    if (part.size() > 2 && absl::StartsWith(part, "sm") &&
        absl::c_all_of(part.substr(2), absl::ascii_isdigit)) {
      return true;
    }
  }
  return false;
}

float LeastItemBytes(const Row& row, const Catalogue& catalogue) {
  const Scenario* scenario = catalogue.FindScenario(row.scenario());
  if (scenario == nullptr || row.device() != "cpu") return 0;
  const CoveragePolicy& policy = catalogue.policy().coverage();
  if (row.mode() == "pipeline") {
    const double side = policy.pipeline_crop();
    return static_cast<float>(side * side * scenario->channels() *
                              std::max(1, scenario->clip_length()));
  }
  if (row.mode() != "micro" || scenario->media() != "image" ||
      row.dataset().files() <= 0 || row.dataset().bytes() <= 0 ||
      absl::c_linear_search(policy.partial_transforms(), row.transform())) {
    return 0;
  }
  const double copies = std::max(
      1.0,
      std::floor(static_cast<double>(scenario->channels()) / kFileChannels));
  return static_cast<float>(copies * row.dataset().bytes() /
                            row.dataset().files());
}

int ThreadsOf(const Job& job, const MachineFacts* machine,
              const Catalogue& catalogue) {
  for (const ThreadPolicy& policy : catalogue.policy().threads()) {
    if (policy.name() != job.thread_policy()) continue;
    // One thread in the parent and in every worker.
    if (policy.torch_intra_op() == 1) return std::max(1, job.workers());
  }
  // Libraries may start one thread per core, in every worker.
  if (machine == nullptr) return 0;
  return std::max(machine->usable_cores, job.workers());
}

std::string HardwareProblem(const Job& job, const RunState& run,
                            const MeasuredRuns& measured,
                            const Catalogue& catalogue) {
  const RowSettings::Values& values = measured.settings().Get(run.settings);
  const std::string& profile = values[RowSettings::kMachineProfile];
  const std::string& hardware = values[RowSettings::kHardware];
  const std::string& row_class = measured.Text(run.hardware_class);
  const Kind kind = KindOf(measured.Machine(run), profile);
  if (job.device() == "cpu") {
    if (absl::StrContains(hardware, "NVIDIA")) {
      return absl::StrCat("a CPU row measured on ", hardware);
    }
    return CpuRowProblem(job, catalogue, kind, row_class, profile);
  }
  if (kind == Kind::kCpu) {
    return absl::StrCat("a ", job.device(), " row from a machine without a GPU",
                        Named(profile));
  }
  if (!row_class.empty() && row_class != "gpu") {
    return absl::StrCat("hardware_class is ", row_class, ", planned is gpu");
  }
  return "";
}

namespace {

// One measured number.
struct MeasuredNumber {
  double throughput;
  uint64_t numbers;
  int job;
  int position;  // In the job's runs.
};

bool IsMeasured(const MeasuredRuns& measured, const RunState& run) {
  return !run.zero && measured.Text(run.status) == "ok";
}

std::vector<MeasuredNumber> AllMeasured(const PlannedJobs& jobs,
                                        const MeasuredRuns& measured) {
  std::vector<MeasuredNumber> all;
  for (int job = 0; job < jobs.size(); ++job) {
    const std::vector<RunState>& runs = measured.runs(job);
    for (int i = 0; i < runs.size(); ++i) {
      if (!IsMeasured(measured, runs[i]) ||
          !jobs.HasRun(job, runs[i].run_index)) {
        continue;
      }
      all.push_back({runs[i].throughput, runs[i].numbers, job, i});
    }
  }
  return all;
}

// Reports each number of `group`, naming another one of the group.
void BlameGroup(const PlannedJobs& jobs, const MeasuredRuns& measured,
                const std::vector<MeasuredNumber>& group,
                std::vector<std::pair<MeasuredNumber, std::string>>* blamed) {
  for (size_t i = 0; i < group.size(); ++i) {
    const MeasuredNumber& other = group[i == 0 ? 1 : 0];
    std::string what = absl::StrCat(
        "throughput ", group[i].throughput, " is to the last bit that of ",
        Subject(jobs.Get(other.job)), " run ",
        measured.runs(other.job)[other.position].run_index);
    if (group.size() > 2) {
      absl::StrAppend(&what, " and ", group.size() - 2, " more");
    }
    blamed->push_back({group[i], std::move(what)});
  }
}

// A key that an image job shares with the corresponding clip job.
uint64_t PairKey(const Job& job, const Scenario& scenario) {
  Fingerprint print;
  print.Add(job.library()).Add(job.transform()).Add(job.mode());
  print.Add(job.scope()).Add(job.device()).Add(job.params_profile());
  return print.Number(scenario.channels()).value();
}

// Finds runs with bitwise equal throughput: one of them was copied. With so
// many rows that equal throughputs occur by chance, elapsed time and samples
// must be equal too. See CoveragePolicy.
void FindIdentical(const PlannedJobs& jobs, const MeasuredRuns& measured,
                   const Catalogue& catalogue, CoverageFindings* findings) {
  std::vector<MeasuredNumber> all = AllMeasured(jobs, measured);
  const bool alone =
      all.size() <= catalogue.policy().coverage().identical_alone_rows();
  const auto key = [alone](const MeasuredNumber& m) {
    return std::make_tuple(m.throughput, alone ? 0 : m.numbers);
  };
  std::sort(all.begin(), all.end(),
            [&](const MeasuredNumber& a, const MeasuredNumber& b) {
              return std::make_tuple(key(a), a.job, a.position) <
                     std::make_tuple(key(b), b.job, b.position);
            });
  std::vector<std::pair<MeasuredNumber, std::string>> blamed;
  for (size_t start = 0; start < all.size();) {
    size_t end = start + 1;
    while (end < all.size() && key(all[end]) == key(all[start])) ++end;
    if (end - start > 1) {
      BlameGroup(jobs, measured, {all.begin() + start, all.begin() + end},
                 &blamed);
    }
    start = end;
  }
  std::sort(blamed.begin(), blamed.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(a.first.job, a.first.position) <
           std::make_tuple(b.first.job, b.first.position);
  });
  for (const auto& [number, what] : blamed) {
    const RunState& run = measured.runs(number.job)[number.position];
    findings->AddRun(CoverageCode::kIdentical, number.job, jobs.Get(number.job),
                     run.run_index, measured.Place(run), what);
  }
}

// Finds clips that are faster than images of the same library, transform, mode,
// scope and device by more than the policy allows.
void FindFastVideo(const PlannedJobs& jobs, const MeasuredRuns& measured,
                   const Catalogue& catalogue, CoverageFindings* findings) {
  const double bound = catalogue.policy().coverage().video_over_image();
  if (bound <= 0) return;
  // The fastest median of the image jobs, by PairKey.
  absl::flat_hash_map<uint64_t, double> images;
  std::vector<int> clips;
  for (int i = 0; i < jobs.size(); ++i) {
    if (measured.runs(i).empty()) continue;
    const Job job = jobs.Get(i);
    const Scenario* scenario = catalogue.FindScenario(job.scenario());
    if (scenario == nullptr || job.transform().empty()) continue;
    if (scenario->media() == "clip") {
      clips.push_back(i);
      continue;
    }
    std::vector<double> values;
    for (const RunState& run : measured.runs(i)) {
      if (IsMeasured(measured, run)) values.push_back(run.throughput);
    }
    if (values.empty()) continue;
    double& fastest = images[PairKey(job, *scenario)];
    fastest = std::max(fastest, Median(std::move(values)));
  }
  for (const int i : clips) {
    const Job job = jobs.Get(i);
    const auto image =
        images.find(PairKey(job, *catalogue.FindScenario(job.scenario())));
    if (image == images.end()) continue;
    for (const RunState& run : measured.runs(i)) {
      if (!IsMeasured(measured, run) || !jobs.HasRun(i, run.run_index))
        continue;
      const double ratio = run.throughput / image->second;
      if (ratio <= bound) continue;
      findings->AddRun(
          CoverageCode::kVideoSpeed, i, job, run.run_index, measured.Place(run),
          absl::StrFormat("%.4g clips/s are %.3g times the %.4g images/s of "
                          "the same transform; at most %g is believed",
                          run.throughput, ratio, image->second, bound));
    }
  }
}

class Judge {
 public:
  Judge(const PlannedJobs& jobs, const MeasuredRuns& measured,
        const Catalogue& catalogue, CoverageFindings* findings,
        Coverage* record)
      : jobs_(jobs),
        measured_(measured),
        catalogue_(catalogue),
        policy_(catalogue.policy().coverage()),
        findings_(*findings),
        record_(*record) {}

  void Run() {
    for (int i = 0; i < jobs_.size(); ++i) JudgeJob(i);
    JudgeStrays();
    FindIdentical(jobs_, measured_, catalogue_, &findings_);
    FindFastVideo(jobs_, measured_, catalogue_, &findings_);
    groups_.AddFewRuns(catalogue_.policy().runs().warn_below(), &findings_);
    Count();
  }

 private:
  void JudgeJob(int index) {
    index_ = index;
    job_ = jobs_.Get(index);
    flags_ = {};
    for (const RunState& run : measured_.runs(index)) {
      NoteAnswer(measured_.Text(run.status));
      // Runs beyond the plan are allowed and not checked.
      if (jobs_.HasRun(index, run.run_index)) JudgeRun(run);
    }
    JudgeAbsent();
    JudgeSettings();
    groups_.Add(job_, flags_, OkRuns());
  }

  void Blame(CoverageCode code, const RunState& run, const std::string& what) {
    findings_.AddRun(code, index_, job_, run.run_index, measured_.Place(run),
                     what);
  }

  void JudgeRun(const RunState& run) {
    const std::string& status = measured_.Text(run.status);
    if (!IsDone(status)) {
      flags_.failed = true;
      return Blame(CoverageCode::kFailed, run, WhyFailed(run));
    }
    if (run.difference != 0) {
      Blame(
          run.other_batch ? CoverageCode::kBatchSize : CoverageCode::kSettings,
          run, measured_.Text(run.difference));
    }
    JudgeSupport(run, status);
    JudgeTies(run);
    if (status == "unsupported") return;
    const std::string hardware =
        HardwareProblem(job_, run, measured_, catalogue_);
    if (!hardware.empty()) Blame(CoverageCode::kWrongHardware, run, hardware);
    if (status == "ok") JudgeNumbers(run);
    if (run.disturbances != 0) JudgeNoise(run);
  }

  void JudgeNoise(const RunState& run) {
    const std::string& causes = measured_.Text(run.disturbances);
    flags_.noisy = true;
    record_.set_disturbed_runs(record_.disturbed_runs() + 1);
    for (const absl::string_view cause : absl::StrSplit(causes, ", ")) {
      ++(*record_.mutable_disturbances())[std::string(cause)];
    }
    Blame(CoverageCode::kNoisy, run, absl::StrCat("the run was ", causes));
  }

  // These statuses also explain runs that were not made.
  void NoteAnswer(const std::string& status) {
    flags_.early_stopped |= status == "early_stopped";
    flags_.unsupported |=
        status == "unsupported" && job_.has_unsupported_reason();
  }

  std::string WhyFailed(const RunState& run) const {
    std::string what = absl::StrCat("status is ", measured_.Text(run.status));
    if (run.attempt > 0) {
      absl::StrAppend(&what, " after ", run.attempt + 1, " attempts");
    }
    const std::string& reason = measured_.Text(run.reason);
    return reason.empty() ? what : absl::StrCat(what, ": ", reason);
  }

  void JudgeSupport(const RunState& run, const std::string& status) {
    const bool says_unsupported = status == "unsupported";
    if (says_unsupported == job_.has_unsupported_reason()) return;
    if (says_unsupported) {
      const std::string& reason = measured_.Text(run.reason);
      return Blame(CoverageCode::kUnsupported, run,
                   absl::StrCat("the row says unsupported, the matrix does not",
                                reason.empty() ? "" : ": ", reason));
    }
    Blame(CoverageCode::kSupported, run,
          absl::StrCat("the row is ", status, ", the matrix says unsupported: ",
                       job_.unsupported_reason()));
  }

  void JudgeTies(const RunState& run) {
    const absl::optional<Ties> ties = measured_.FindTies(index_, run);
    if (!ties.has_value()) return;
    const std::string differences =
        measured_.settings().Differences(ties->settings);
    if (!differences.empty()) {
      return Blame(CoverageCode::kDuplicate, run,
                   absl::StrCat(ties->rows, " rows of one attempt differ in ",
                                differences));
    }
    Blame(CoverageCode::kRepeated, run,
          absl::StrCat(ties->rows, " rows of one attempt",
                       ties->numbers_differ ? ", measured again"
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
    if (run.of_limit > policy_.limit_slack() && !measured_.WasDisturbed(run)) {
      Blame(CoverageCode::kAboveLimit, run,
            absl::StrFormat("throughput is %.3g times the row's own limit; at "
                            "most %g is believed",
                            run.of_limit, policy_.limit_slack()));
    }
    JudgeCopy(run);
  }

  void JudgeCopy(const RunState& run) {
    // The run's copy speed is that of the CPU, which does not limit rows of a
    // GPU.
    if (job_.device() == "cuda" && job_.hardware_class() != kHostCpu) {
      ++rows_without_copy_limit_;
      return;
    }
    const int threads = ThreadsOf(job_, measured_.Machine(run), catalogue_);
    const double allowed = measured_.CopyBytesPerS(run) * threads;
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
              measured_.CopyBytesPerS(run) / 1e9, threads));
  }

  // Finds runs of the plan without any row.
  void JudgeAbsent() {
    const std::vector<RunState>& there = measured_.runs(index_);
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

  // Compares the settings of all runs, separately for the host's CPU.
  void JudgeSettings() {
    for (const bool host : {false, true}) {
      std::vector<uint32_t> settings;
      const RunState* last = nullptr;
      for (const RunState& run : measured_.runs(index_)) {
        const std::string& status = measured_.Text(run.status);
        const bool ran = status == "ok" || status == "early_stopped";
        if (!ran || (measured_.Text(run.hardware_class) == kHostCpu) != host) {
          continue;
        }
        settings.push_back(run.settings);
        last = &run;
      }
      const std::string differences =
          measured_.settings().Differences(settings);
      if (differences.empty()) continue;
      Blame(CoverageCode::kMixed, *last,
            absl::StrCat("runs differ in ", differences));
    }
  }

  size_t OkRuns() const {
    std::set<int32_t> ok;
    for (const RunState& run : measured_.runs(index_)) {
      if (measured_.Text(run.status) == "ok") ok.insert(run.run_index);
    }
    return ok.size();
  }

  // Finds rows of no job that would belong to one with other settings.
  void JudgeStrays() {
    for (const auto& [key, stray] : measured_.strays()) {
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
    record_.set_rows(measured_.rows());
    record_.set_unplanned_rows(measured_.unplanned_rows());
    record_.set_replaced_rows(measured_.replaced_rows());
    record_.set_rows_without_copy_limit(rows_without_copy_limit_);
    groups_.WriteTo(findings_, &record_);
  }

  const PlannedJobs& jobs_;
  const MeasuredRuns& measured_;
  const Catalogue& catalogue_;
  const CoveragePolicy& policy_;
  CoverageFindings& findings_;
  Coverage& record_;

  // The job being judged.
  int index_ = 0;
  Job job_;
  JobFlags flags_;

  CoverageGroups groups_;
  int64_t rows_without_copy_limit_ = 0;
};

}  // namespace

void JudgeCoverage(const PlannedJobs& jobs, const MeasuredRuns& measured,
                   const Catalogue& catalogue, CoverageFindings* findings,
                   Coverage* record) {
  Judge(jobs, measured, catalogue, findings, record).Run();
}

}  // namespace feedrate
