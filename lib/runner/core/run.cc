#include "lib/runner/core/run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/config/policy.pb.h"
#include "lib/config/text_proto.h"
#include "lib/draw/progress.h"
#include "lib/machine/energy.h"
#include "lib/machine/gpu.h"
#include "lib/machine/machine.h"
#include "lib/machine/root.h"
#include "lib/machine/visible_gpu.h"
#include "lib/measure/subject.h"
#include "lib/records/attempts.h"
#include "lib/records/json.h"
#include "lib/records/verdict.pb.h"
#include "lib/runner/core/audit.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/job_run.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/core/run_tally.h"
#include "lib/runner/core/workers.h"

namespace feedrate {
namespace {

// Larger than a core's share of any cache, but quick to touch.
constexpr size_t kCopyBytes = size_t{32} << 20;
constexpr int kCopyTries = 4;

// Bytes per second that one thread copies between buffers larger than the
// caches; the best of a few tries, about 50 ms in all.
double MeasureCopyBytesPerSecond() {
  const std::unique_ptr<char[]> from(new char[kCopyBytes]);
  const std::unique_ptr<char[]> to(new char[kCopyBytes]);
  // Touches the pages before they are timed.
  std::memset(from.get(), 1, kCopyBytes);
  std::memset(to.get(), 2, kCopyBytes);
  double best_s = 1e9;
  for (int i = 0; i < kCopyTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.get(), from.get(), kCopyBytes);
    // Keeps the compiler from removing the copy.
    asm volatile("" : : "r"(to.get()) : "memory");
    const auto elapsed = std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, std::chrono::duration<double>(elapsed).count());
  }
  return static_cast<double>(kCopyBytes) / best_s;
}

// One run, step by step.
class Session {
 public:
  explicit Session(const RunOptions& options)
      : options_(options),
        progress_(std::cerr, isatty(STDERR_FILENO) != 0),
        warn_([this](const std::string& text) { Say(text); }) {}

  absl::StatusOr<ExitCode> Run() {
    const absl::Status status = RunAll();
    servers_ = nullptr;
    if (status.code() == absl::StatusCode::kCancelled &&
        interrupt_.happened()) {
      Report();
      Say("interrupted; what is written is whole, --resume carries on");
      return interrupt_.exit_code();
    }
    RETURN_IF_ERROR(status);
    return Verdict();
  }

 private:
  absl::Status RunAll() {
    RETURN_IF_ERROR(Load());
    RETURN_IF_ERROR(AddServers());
    RETURN_IF_ERROR(OpenOutput());
    RETURN_IF_ERROR(servers_->Start());
    // Runs while the libraries load.
    RETURN_IF_ERROR(LoadInputs());
    machine_ = ReadMachine(ThisMachine());
    const double copy_bytes_per_s =
        uses_servers_ ? MeasureCopyBytesPerSecond() : 0;
    RETURN_IF_ERROR(Wait());
    LockClocks();
    RETURN_IF_ERROR(WriteHead(copy_bytes_per_s));
    RETURN_IF_ERROR(RunGroups());
    for (const auto& mode : options_.modes) RETURN_IF_ERROR(mode->End());
    return absl::OkStatus();
  }

  absl::Status Load() {
    ASSIGN_OR_RETURN(
        const std::string folder,
        FindConfigsFolder(options_.configs_folder, options_.source.config));
    ASSIGN_OR_RETURN(Catalogue catalogue, Catalogue::Load(folder));
    catalogue_ = std::make_unique<Catalogue>(std::move(catalogue));
    if (options_.list.has_value()) {
      list_ = *options_.list;
    } else {
      ASSIGN_OR_RETURN(list_, LoadJobList(options_.source, *catalogue_));
    }
    if (list_.config_text.empty()) {
      list_.config_text = WithoutQueries(PrintTextProto(list_.config));
    }
    bool uses_gpu = false;
    for (const Job& job : list_.jobs) {
      JobMode* const mode = FindMode(options_.modes, job);
      if (mode == nullptr) {
        return absl::InternalError(
            absl::StrCat(options_.source.tool, " cannot measure job ",
                         job.job_id(), " of mode \"", job.mode(), "\""));
      }
      uses_gpu |= job.device() == "cuda";
      uses_servers_ |= mode->UsesServers();
      has_null_ |= mode->HasNullJob();
      if (job.has_unsupported_reason()) continue;
      if (mode->UsesServers()) {
        RETURN_IF_ERROR(PrepareCommandOfJob(*catalogue_, job).status());
      }
      RETURN_IF_ERROR(mode->Check(*catalogue_, job));
    }
    if (uses_gpu) gpu_index_ = FirstVisibleGpu(NvmlLibraries(), warn_);
    return absl::OkStatus();
  }

  // Also finds missing workers before anything starts.
  absl::Status AddServers() {
    WorkerPlaces places = PlacesOfThisProgram(catalogue_->configs_dir());
    const Selection& selection = list_.config.selection();
    places.python = selection.python();
    places.subject_prefix = options_.source.subject_prefix;
    servers_ = std::make_unique<ServerPool>(*catalogue_, std::move(places),
                                            interrupt_.fd());
    equivalence_ = std::make_unique<EquivalenceCheck>(
        *catalogue_, EquivalenceCachePath(), selection.reference());
    if (!uses_servers_) return absl::OkStatus();
    RETURN_IF_ERROR(AddLibraries(options_.skip_missing, warn_, servers_.get(),
                                 &list_.jobs));
    for (const Job& job : list_.jobs) {
      const std::optional<Job> reference = equivalence_->ReferenceJob(job);
      if (reference.has_value()) RETURN_IF_ERROR(servers_->Add(*reference));
    }
    null_job_ = NullJob(list_.jobs[0]);
    return MeasuresNull() ? servers_->Add(null_job_) : absl::OkStatus();
  }

  absl::Status Wait() {
    if (!uses_servers_) return absl::OkStatus();
    const TimeAccount::Entry entry(&account_, Spending::kImport);
    return WaitForLibraries(list_.jobs, warn_, &progress_, servers_.get());
  }

  absl::Status OpenOutput() {
    RowOutput::Options output;
    output.path = list_.config.output().path();
    if (output.path.empty()) output.path = "-";
    output.resume = options_.resume;
    // Jobs that carry no config say little about it.
    if (list_.config.has_version()) output.config = list_.config_text;
    output.warn = warn_;
    output.discard = output.path == "-" && WantsTable() && !options_.verify;
    output.on_row = [this](const Row& row) {
      tally_.Add(row);
      if (options_.on_row) options_.on_row(row);
    };
    output.batches = options_.batches;
    ASSIGN_OR_RETURN(output_, RowOutput::Open(output));
    return absl::OkStatus();
  }

  absl::Status LoadInputs() {
    const TimeAccount::Entry entry(&account_, Spending::kMedia);
    const auto show = [this](int64_t done, int64_t total) {
      progress_.Show(options_.clips.load ? "clips" : "images", done, total, "");
    };
    std::vector<const Job*> jobs;
    if (has_null_) jobs.push_back(&null_job_);
    for (const Job& job : list_.jobs) jobs.push_back(&job);
    ASSIGN_OR_RETURN(const std::string local, LocalData(jobs, show));
    corpora_ = std::make_unique<InputCorpora>(*catalogue_, local, show, warn_,
                                              options_.clips.load);
    const RunInputs inputs = {
        *catalogue_, local, remote_.get(), corpora_.get(),
        [this](const std::string& what, int64_t done, int64_t total) {
          progress_.Show(what, done, total, "");
        }};
    for (const Job* job : jobs) {
      if (interrupt_.happened()) return absl::CancelledError("interrupted");
      if (job->has_unsupported_reason()) continue;
      RETURN_IF_ERROR(FindMode(options_.modes, *job)->LoadInput(inputs, *job));
    }
    progress_.Finish();
    return absl::OkStatus();
  }

  // The folder with the data that jobs read as files. Opens the store if the
  // data is remote, and copies it to this machine if jobs need that.
  absl::StatusOr<std::string> LocalData(const std::vector<const Job*>& jobs,
                                        const FileProgress& show) {
    if (!IsRemoteDataset(list_.dataset)) return list_.dataset;
    if (!options_.open_remote) {
      return absl::InvalidArgumentError(absl::StrCat(
          WithoutQueries(list_.dataset), ": ", options_.source.tool,
          " reads folders; bring it here first with stage_dataset"));
    }
    ASSIGN_OR_RETURN(remote_, options_.open_remote(list_.dataset, warn_));
    const Job* needs = nullptr;
    int64_t num_items = 0;
    bool all = false;
    for (const Job* job : jobs) {
      if (job->has_unsupported_reason()) continue;
      if (!NeedsLocalData(*catalogue_, *job)) continue;
      needs = job;
      all |= job->num_items() == 0;
      num_items = std::max<int64_t>(num_items, job->num_items());
    }
    if (needs == nullptr) return list_.dataset;
    // The folders of a mixture are its data sets, so names are kept.
    return remote_->BringHome(ItemEndings(*catalogue_, *needs),
                              all ? 0 : num_items, IsMixtureJob(*needs), show);
  }

  // Says whether it did.
  void LockClocks() {
    if (!options_.lock_clocks_mhz.has_value()) return;
    if (!gpu_index_.has_value()) {
      Say("clocks are not locked: no job runs on a GPU with a number");
      return;
    }
    absl::StatusOr<std::unique_ptr<GpuClockLock>> lock = GpuClockLock::Lock(
        NvmlLibraries(), *gpu_index_, *options_.lock_clocks_mhz);
    if (!lock.ok()) {
      Say(absl::StrCat("clocks are not locked: ", lock.status().message()));
      return;
    }
    clock_lock_ = *std::move(lock);
    Say(absl::StrCat("the clock of GPU ", *gpu_index_, " is locked at ",
                     clock_lock_->mhz(), " MHz"));
  }

  // Null without a GPU, or if the driver does not tell.
  std::unique_ptr<GpuEnergy> OpenGpuEnergy() const {
    if (!gpu_index_.has_value()) return nullptr;
    absl::StatusOr<std::unique_ptr<GpuEnergy>> energy =
        GpuEnergy::Open(NvmlLibraries(), *gpu_index_);
    return energy.ok() ? *std::move(energy) : nullptr;
  }

  absl::Status WriteHead(double copy_bytes_per_s) {
    machine_.libraries = servers_->Versions();
    RunHead head = MakeRunHead(machine_, list_.config, list_.config_text,
                               copy_bytes_per_s, absl::Now());
    if (clock_lock_ != nullptr) {
      head.run.set_locked_clock_mhz(clock_lock_->mhz());
    }
    output_->SetHead(head.env, head.run);
    identity_ = head.identity;
    identity_.locked_clock_mhz = head.run.locked_clock_mhz();
    done_ = std::make_unique<DoneRuns>(
        identity_.machine_profile,
        [this](const std::string& library) {
          const auto& versions = machine_.libraries;
          const auto found = versions.find(library);
          return found == versions.end() ? "" : found->second;
        },
        options_.cold,
        [this](const std::string& mode) {
          return UsableCpusOf(identity_, mode);
        });
    if (!options_.resume || options_.repeat) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     output_->ExistingFiles());
    return done_->Read(files, warn_);
  }

  bool NothingIsLeft() const {
    for (const Job& job : list_.jobs) {
      for (const int run_index : job.run_indexes()) {
        if (!done_->Done(job.job_id(), run_index)) return false;
      }
    }
    return true;
  }

  // Groups of jobs that take turns, in blocks whose groups take turns too.
  std::vector<std::vector<std::vector<const Job*>>> Blocks() const {
    std::vector<std::vector<int>> groups;
    if (uses_servers_) {
      groups = GroupJobs(list_.jobs);
    } else {
      for (size_t i = 0; i < list_.jobs.size(); ++i) {
        groups.push_back({static_cast<int>(i)});
      }
    }
    std::vector<std::vector<std::vector<const Job*>>> blocks;
    bool spread = false;
    for (const std::vector<int>& group : groups) {
      std::vector<const Job*> jobs;
      for (const int at : group) jobs.push_back(&list_.jobs[at]);
      const bool spreads =
          FindMode(options_.modes, *jobs[0])->SpreadsRuns(*jobs[0]);
      if (!spread || !spreads) blocks.emplace_back();
      spread = spreads;
      blocks.back().push_back(std::move(jobs));
    }
    return blocks;
  }

  absl::Status RunGroups() {
    if (uses_servers_ && !options_.verify && !options_.audit &&
        NothingIsLeft()) {
      Say("every run is done already");
      return absl::OkStatus();
    }
    NoiseWatch noise(
        NoisePolicyOf(catalogue_->policy().measuring()),
        /*single_thread=*/null_job_.thread_policy() == "micro-single");
    quiet_ = MakeQuietWait();
    SpeedWatch speed(catalogue_->policy().measuring().slow_core(),
                     quiet_.get());
    EngineSpeeds engines;
    EnergyMeter cpu_energy(Root(), nullptr);
    EnergyMeter gpu_energy(Root(), OpenGpuEnergy());
    const RunContext context = {
        *catalogue_,
        options_.limits,
        identity_,
        options_.modes,
        servers_.get(),
        corpora_.get(),
        done_.get(),
        output_.get(),
        &noise,
        quiet_.get(),
        &speed,
        &account_,
        options_.equivalence ? equivalence_.get() : nullptr,
        &engines,
        &cpu_energy,
        &gpu_energy,
        options_.clips,
        interrupt_.fd(),
        warn_};
    stable_within_ = StableWithin(context);
    if (options_.verify) return Verify(context);
    if (options_.audit) return AuditAll(context);
    if (options_.on_jobs) options_.on_jobs(list_.jobs);
    if (MeasuresNull()) RETURN_IF_ERROR(RunNull(context));
    // A job has one step to begin and one for each run.
    int64_t steps = 0, steps_of_done = 0, all_steps = 0;
    for (const Job& job : list_.jobs) all_steps += 1 + job.run_indexes_size();
    const int64_t num_jobs = list_.jobs.size();
    const auto begins = [&](const Job& job) {
      const JobMode& mode = *FindMode(options_.modes, job);
      progress_.Show(mode.JobsTitle(),
                     std::min(steps++, all_steps) * num_jobs / all_steps,
                     num_jobs, mode.JobTitle(job));
    };
    for (const std::vector<std::vector<const Job*>>& groups : Blocks()) {
      RETURN_IF_ERROR(feedrate::RunGroups(context, groups, begins));
      for (const std::vector<const Job*>& jobs : groups) {
        JobMode& mode = *FindMode(options_.modes, *jobs.back());
        std::optional<Job> next = mode.NextJob(context, *jobs.back());
        while (next.has_value()) {
          RETURN_IF_ERROR(feedrate::RunGroups(context, {{&*next}}, begins));
          next = mode.NextJob(context, *next);
        }
        for (const Job* job : jobs)
          steps_of_done += 1 + job->run_indexes_size();
      }
      if (interrupt_.happened()) return absl::CancelledError("interrupted");
      steps = steps_of_done;
    }
    progress_.Finish();
    return absl::OkStatus();
  }

  absl::Status Verify(const RunContext& context) {
    int64_t done = 0;
    ASSIGN_OR_RETURN(
        verifications_, VerifyJobs(context, list_.jobs, [&](const Job& job) {
          progress_.Show("outputs", done++, list_.jobs.size(),
                         absl::StrCat(job.transform(), " ", job.library()));
        }));
    progress_.Finish();
    if (options_.format != "jsonl") {
      // Each container has a line of its own.
      for (size_t i = 0; i < verifications_.size(); ++i) {
        const std::string container = ContainerOf(list_.jobs[i]);
        if (container.empty()) continue;
        absl::StrAppend(verifications_[i].mutable_transform(), " on ",
                        container);
      }
      return output_->WriteText(VerificationTable(verifications_));
    }
    std::string text;
    for (const Verification& verification : verifications_) {
      AppendRecord(verification, &text);
    }
    return output_->WriteText(text);
  }

  absl::Status AuditAll(const RunContext& context) {
    for (const Job& job : list_.jobs) {
      progress_.Show("audits", static_cast<int64_t>(audits_.size()),
                     list_.jobs.size(), job.library());
      Audit& audit = audits_.emplace_back(StartAudit(job, identity_.run_id));
      if (job.has_unsupported_reason()) {
        audit.set_status("unsupported");
        audit.set_reason(job.unsupported_reason());
      } else {
        ASSIGN_OR_RETURN(const JobPolicy policy,
                         JobPolicyOf(*catalogue_, job, options_.limits.hang_s));
        ASSIGN_OR_RETURN(
            audit,
            FindMode(options_.modes, job)->AuditJob(context, job, policy));
      }
      RETURN_IF_ERROR(output_->WriteAudit(audit, job.output()));
    }
    progress_.Finish();
    return absl::OkStatus();
  }

  bool MeasuresNull() const {
    return has_null_ && !options_.verify && !options_.audit;
  }

  // Its items are timed one by one at any cost: the row shows what reading the
  // clock costs.
  absl::Status RunNull(const RunContext& context) {
    JobRun run(&context, null_job_);
    // A resumed run has its own null row; `attempt` tells them apart.
    run.MeasureAgain();
    RETURN_IF_ERROR(run.Begin());
    if (run.pending().empty()) return absl::OkStatus();
    return run.Measure(0);
  }

  bool WantsTable() const {
    return options_.format.empty() ? isatty(STDOUT_FILENO) != 0
                                   : options_.format == "table";
  }

  // The time for waiting grows with the time that has been spent otherwise.
  std::unique_ptr<QuietWait> MakeQuietWait() {
    const MeasuringPolicy& policy = catalogue_->policy().measuring();
    QuietWait::Options wait;
    wait.look = [this, &policy] {
      auto causes = LookForNoise(policy.contended_share());
      const std::string busy = tally_.Busy(causes);
      if (!busy.empty()) Say(busy);
      return causes;
    };
    wait.budget_s = [this, &policy] {
      return options_.limits.quiet_wait_s >= 0
                 ? options_.limits.quiet_wait_s
                 : policy.quiet_share() *
                       (account_.Total() - quiet_->waited_s());
    };
    wait.now_s = [this] { return account_.Total(); };
    wait.interrupted = [this] { return interrupt_.happened(); };
    wait.pause = [] { absl::SleepFor(absl::Milliseconds(2)); };
    return std::make_unique<QuietWait>(std::move(wait));
  }

  // What programs and people on a terminal get to see before the last line.
  void Report() {
    progress_.Finish();
    if (options_.report) std::cerr << PrintableLines(options_.report());
    if (options_.audit) {
      (WantsTable() ? std::cout : std::cerr)
          << AuditTable(audits_) << std::flush;
    } else if (WantsTable() && !options_.verify) {
      std::cout << PrintableLines(tally_.Table()) << std::flush;
    }
  }

  ExitCode Verdict() {
    Report();
    const std::string time = absl::StrFormat("%.1f s", account_.Total());
    if (options_.audit) return AuditVerdict(time);
    if (options_.verify) return VerifyVerdict(time);
    // A table has the reasons of all.
    const std::string failure = WantsTable() ? "" : tally_.FirstFailure();
    // Some do not wait for a quiet machine, and some do not watch it.
    const bool waits = uses_servers_ && quiet_ != nullptr;
    std::string noise;
    if (waits || tally_.HasDisturbedRuns()) {
      noise = tally_.Noise(waits ? quiet_->waited_s() : 0, stable_within_);
    }
    Say(absl::StrCat(tally_.Counts(), " in ", time, noise, failure));
    if (options_.account) Say(account_.Text());
    for (const std::string& status : options_.fail_on) {
      if (tally_.by_status().count(status) > 0) return ExitCode::kCheckSaidNo;
    }
    return tally_.AllFailed() ? ExitCode::kRunFailed : ExitCode::kDone;
  }

  ExitCode VerifyVerdict(const std::string& time) {
    Say(VerificationSummary(verifications_) + " compared in " + time);
    if (options_.account) Say(account_.Text());
    bool has_failed = false;
    for (const Verification& one : verifications_) {
      if (absl::c_linear_search(options_.fail_on, one.status())) {
        return ExitCode::kCheckSaidNo;
      }
      has_failed |= IsFailure(one.status());
    }
    return has_failed ? ExitCode::kRunFailed : ExitCode::kDone;
  }

  ExitCode AuditVerdict(const std::string& time) {
    int64_t passed = 0, failed = 0;
    for (const Audit& audit : audits_) {
      passed += audit.verdict() == "pass" ? 1 : 0;
      failed += audit.verdict() == "fail" ? 1 : 0;
    }
    Say(absl::StrCat(Counted(audits_.size(), "audit"), " (", passed, " pass, ",
                     failed, " fail, ", audits_.size() - passed - failed,
                     " not done) in ", time));
    return ExitCodeOfAudits(audits_);
  }

  void Say(const std::string& text) {
    progress_.Finish();
    std::cerr << options_.source.tool << ": " << PrintableText(text) << "\n";
  }

  const RunOptions& options_;
  TimeAccount account_;
  const Interrupt interrupt_{kInterruptGraceSeconds};
  Progress progress_;
  const Warn warn_;
  std::unique_ptr<Catalogue> catalogue_;
  JobList list_;
  // The first GPU that a job runs on. Absent if no job needs one.
  std::optional<unsigned> gpu_index_;
  std::unique_ptr<GpuClockLock> clock_lock_;
  bool uses_servers_ = false;
  bool has_null_ = false;
  Job null_job_;
  std::unique_ptr<ServerPool> servers_;
  std::unique_ptr<EquivalenceCheck> equivalence_;
  std::unique_ptr<RowOutput> output_;
  std::unique_ptr<RemoteData> remote_;
  std::unique_ptr<InputCorpora> corpora_;
  MachineInfo machine_;
  RunIdentity identity_;
  std::unique_ptr<DoneRuns> done_;
  // Null before jobs run.
  std::unique_ptr<QuietWait> quiet_;
  double stable_within_ = 0;
  RunTally tally_;
  std::vector<Verification> verifications_;
  std::vector<Audit> audits_;
};

}  // namespace

absl::StatusOr<ExitCode> RunJobs(const RunOptions& options) {
  // A process that has died must be an error of its pipe and not end us.
  signal(SIGPIPE, SIG_IGN);
  return Session(options).Run();
}

absl::StatusOr<ExitCode> RunAndSummarize(
    RunOptions options, const std::function<std::string(const Row&)>& text_of,
    const std::function<std::string(const std::vector<Row>&)>& summary) {
  std::vector<Row> rows;
  std::string report;
  options.on_row = [&](const Row& row) {
    rows.push_back(row);
    // These are long, and a summary does not need them.
    rows.back().clear_samples_s();
    report += text_of(row);
  };
  options.report = [&] { return absl::StrCat(report, summary(rows)); };
  return RunJobs(options);
}

}  // namespace feedrate
