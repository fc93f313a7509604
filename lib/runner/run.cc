#include "lib/runner/run.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/config/text_proto.h"
#include "lib/draw/progress.h"
#include "lib/machine/machine.h"
#include "lib/measure/subject.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"
#include "lib/runner/copy_limit.h"
#include "lib/runner/copy_speed.h"
#include "lib/runner/done_runs.h"
#include "lib/runner/equivalence_check.h"
#include "lib/runner/file_sets.h"
#include "lib/runner/group_run.h"
#include "lib/runner/input_corpora.h"
#include "lib/runner/job_list.h"
#include "lib/runner/job_run.h"
#include "lib/runner/libraries.h"
#include "lib/runner/loader_inputs.h"
#include "lib/runner/loader_limits.h"
#include "lib/runner/loader_spec.h"
#include "lib/runner/measure_policy.h"
#include "lib/runner/mixture/mixture_inputs.h"
#include "lib/runner/mixture/mixture_options.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/runner/null_job.h"
#include "lib/runner/prepare_command.h"
#include "lib/runner/remote_data.h"
#include "lib/runner/row_builder.h"
#include "lib/runner/row_output.h"
#include "lib/runner/run_context.h"
#include "lib/runner/run_head.h"
#include "lib/runner/server_pool.h"
#include "lib/runner/time_account.h"
#include "lib/runner/verify.h"
#include "lib/runner/worker_command.h"

namespace feedrate {
namespace {

// One start of a runner, step by step.
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
    // While the libraries load.
    RETURN_IF_ERROR(LoadInputs());
    machine_ = ReadMachine(ThisMachine());
    const double copy_bytes_per_s = MeasureCopyBytesPerSecond();
    RETURN_IF_ERROR(Wait());
    RETURN_IF_ERROR(WriteHead(copy_bytes_per_s));
    return RunGroups();
  }

  absl::Status Load() {
    ASSIGN_OR_RETURN(
        const std::string folder,
        FindConfigsFolder(options_.configs_folder, options_.source.config));
    ASSIGN_OR_RETURN(Catalogue catalogue, Catalogue::Load(folder));
    catalogue_ = std::make_unique<Catalogue>(std::move(catalogue));
    ASSIGN_OR_RETURN(list_, LoadJobList(options_.source, *catalogue_));
    for (const Job& job : list_.jobs) {
      if (job.has_unsupported_reason()) continue;
      RETURN_IF_ERROR(PrepareCommandOfJob(*catalogue_, job).status());
      if (IsMixtureJob(job)) {
        RETURN_IF_ERROR(ParseMixtureSettings(job).status());
      }
      if (!IsLoaderJob(job)) continue;
      RETURN_IF_ERROR(LoaderSpecOfJob(*catalogue_, job).status());
      RETURN_IF_ERROR(EpochPolicyOfJob(job).status());
    }
    return absl::OkStatus();
  }

  // Also finds out what is missing, before anything starts.
  absl::Status AddServers() {
    servers_ = std::make_unique<ServerPool>(
        *catalogue_, PlacesOfThisProgram(catalogue_->configs_dir()),
        interrupt_.fd());
    RETURN_IF_ERROR(AddLibraries(options_.skip_missing, warn_, servers_.get(),
                                 &list_.jobs));
    null_job_ = NullJob(list_.jobs[0]);
    if (HasNull()) RETURN_IF_ERROR(servers_->Add(null_job_));
    return absl::OkStatus();
  }

  absl::Status Wait() {
    const TimeAccount::Entry entry(&account_, Spending::kImport);
    return WaitForLibraries(list_.jobs, warn_, &progress_, servers_.get());
  }

  absl::Status OpenOutput() {
    RowOutput::Options output;
    output.path = list_.config.output().path();
    if (output.path.empty()) output.path = "-";
    output.resume = options_.resume;
    if (!options_.source.config.empty()) {
      output.config = WithoutQueries(PrintTextProto(list_.config));
    }
    output.warn = warn_;
    output.on_row = options_.on_row;
    output.batches = options_.mixture.batches;
    ASSIGN_OR_RETURN(output_, RowOutput::Open(output));
    return absl::OkStatus();
  }

  absl::Status LoadInputs() {
    const TimeAccount::Entry entry(&account_, Spending::kMedia);
    const auto show = [this](int64_t done, int64_t total) {
      progress_.Show(options_.clips.load ? "clips" : "images", done, total, "");
    };
    std::vector<const Job*> jobs;
    if (!IsMixtureJob(null_job_)) jobs.push_back(&null_job_);
    for (const Job& job : list_.jobs) jobs.push_back(&job);
    ASSIGN_OR_RETURN(const std::string local, LocalData(jobs, show));
    mixture_inputs_ = std::make_unique<MixtureInputs>(
        local, options_.mixture.on_error, [this](int64_t done, int64_t total) {
          progress_.Show("shards", done, total, "");
        });
    corpora_ = std::make_unique<InputCorpora>(*catalogue_, local, show, warn_,
                                              options_.clips.load);
    loader_inputs_ = std::make_unique<LoaderInputs>(
        *catalogue_, local, remote_.get(), corpora_.get(), show);
    for (const Job* job : jobs) {
      if (interrupt_.happened()) return absl::CancelledError("interrupted");
      if (job->has_unsupported_reason()) continue;
      RETURN_IF_ERROR(IsMixtureJob(*job)  ? mixture_inputs_->Get(*job).status()
                      : IsLoaderJob(*job) ? loader_inputs_->Get(*job).status()
                                          : corpora_->Get(*job).status());
    }
    progress_.Finish();
    return absl::OkStatus();
  }

  // Where the data is that jobs read as files. Opens the store where it is not
  // on this machine, and brings it here where that is needed.
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
      if (job->has_unsupported_reason() || !NeedsLocalData(*job)) continue;
      needs = job;
      all |= job->num_items() == 0;
      num_items = std::max<int64_t>(num_items, job->num_items());
    }
    if (needs == nullptr) return list_.dataset;
    // Folders of a mixture are its data sets.
    return remote_->BringHome(ItemEndings(*catalogue_, *needs),
                              all ? 0 : num_items, IsMixtureJob(*needs), show);
  }

  absl::Status WriteHead(double copy_bytes_per_s) {
    machine_.libraries = servers_->Versions();
    const RunHead head =
        MakeRunHead(machine_, list_.config, copy_bytes_per_s, absl::Now());
    output_->SetHead(head.env, head.run);
    identity_ = head.identity;
    done_ = std::make_unique<DoneRuns>(
        identity_.machine_profile, [this](const std::string& library) {
          const auto& versions = machine_.libraries;
          const auto found = versions.find(library);
          return found == versions.end() ? "" : found->second;
        });
    if (!options_.resume) return absl::OkStatus();
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

  absl::Status RunGroups() {
    if (!options_.verify && NothingIsLeft()) {
      Say("every run is done already");
      return absl::OkStatus();
    }
    NoiseWatch noise(
        NoisePolicyOf(catalogue_->policy().measuring()),
        /*single_thread=*/list_.jobs[0].thread_policy() == "micro-single");
    CopyLimit copy_limit(*catalogue_);
    LoaderLimits loader_limits(options_.clips.limit);
    MixtureRunOptions mixture = options_.mixture;
    mixture.label = list_.config.label();
    mixture.note = list_.config.note();
    EquivalenceCheck equivalence(*catalogue_, EquivalenceCachePath());
    const RunContext context = {*catalogue_,
                                list_.config.execution(),
                                options_.limits,
                                identity_,
                                servers_.get(),
                                corpora_.get(),
                                done_.get(),
                                output_.get(),
                                &noise,
                                &account_,
                                options_.equivalence ? &equivalence : nullptr,
                                &copy_limit,
                                options_.loader,
                                loader_inputs_.get(),
                                &loader_limits,
                                options_.clips,
                                mixture,
                                mixture_inputs_.get()};
    if (options_.verify) return Verify(context);
    if (options_.on_jobs) options_.on_jobs(list_.jobs);
    if (HasNull()) RETURN_IF_ERROR(RunNull(context));
    const std::vector<std::vector<int>> groups = GroupJobs(list_.jobs);
    int64_t jobs_done = 0;
    GroupProgress progress;
    progress.begins = [&](const Job& job) {
      progress_.Show("transforms", jobs_done, list_.jobs.size(),
                     absl::StrCat(job.transform(), " ", job.library()));
    };
    progress.ends = [&](const Job&) { ++jobs_done; };
    for (const std::vector<int>& group : groups) {
      std::vector<const Job*> jobs;
      for (const int at : group) jobs.push_back(&list_.jobs[at]);
      RETURN_IF_ERROR(RunGroup(context, jobs, progress));
      if (interrupt_.happened()) return absl::CancelledError("interrupted");
    }
    progress_.Finish();
    return absl::OkStatus();
  }

  absl::Status Verify(const RunContext& context) {
    int64_t done = 0;
    ASSIGN_OR_RETURN(const std::vector<Verification> verifications,
                     VerifyJobs(context, list_.jobs, [&](const Job& job) {
                       progress_.Show(
                           "outputs", done++, list_.jobs.size(),
                           absl::StrCat(job.transform(), " ", job.library()));
                     }));
    progress_.Finish();
    if (options_.verify_format == "table") {
      return output_->WriteText(VerificationTable(verifications));
    }
    std::string text;
    for (const Verification& verification : verifications) {
      AppendRecord(verification, &text);
    }
    return output_->WriteText(text);
  }

  // Between two batches of a mixture there is nothing of the harness but two
  // reads of a clock: no row to tell what that costs.
  bool HasNull() const { return !options_.verify && !IsMixtureJob(null_job_); }

  // Timed one by one, whatever it takes: its row is the clock's cost.
  absl::Status RunNull(const RunContext& context) {
    JobRun run(&context, null_job_);
    // A resumed run has its own; `attempt` tells them apart.
    run.MeasureAgain();
    RETURN_IF_ERROR(run.Begin());
    if (run.pending().empty()) return absl::OkStatus();
    return run.Measure(0);
  }

  ExitCode Verdict() {
    std::vector<std::string> parts;
    bool fails = false;
    int64_t rows = 0;
    for (const auto& [status, count] : output_->counts()) {
      parts.push_back(absl::StrCat(count, " ", status));
      rows += count;
      fails |= std::find(options_.fail_on.begin(), options_.fail_on.end(),
                         status) != options_.fail_on.end();
    }
    const std::string time = absl::StrFormat("%.1f s", account_.Total());
    Say(options_.verify
            ? absl::StrCat("compared in ", time)
            : absl::StrCat(rows, " rows (", absl::StrJoin(parts, ", "), ") in ",
                           time));
    if (options_.account) Say(account_.Text());
    return fails ? ExitCode::kCheckSaidNo : ExitCode::kDone;
  }

  void Say(const std::string& text) {
    progress_.Finish();
    std::cerr << options_.source.tool << ": " << text << "\n";
  }

  const RunOptions& options_;
  TimeAccount account_;
  const Interrupt interrupt_;
  Progress progress_;
  const Warn warn_;
  std::unique_ptr<Catalogue> catalogue_;
  JobList list_;
  Job null_job_;
  std::unique_ptr<ServerPool> servers_;
  std::unique_ptr<RowOutput> output_;
  std::unique_ptr<RemoteData> remote_;
  std::unique_ptr<InputCorpora> corpora_;
  std::unique_ptr<LoaderInputs> loader_inputs_;
  std::unique_ptr<MixtureInputs> mixture_inputs_;
  MachineInfo machine_;
  RunIdentity identity_;
  std::unique_ptr<DoneRuns> done_;
};

}  // namespace

absl::StatusOr<ExitCode> RunJobs(const RunOptions& options) {
  // A measured process that is gone is an error of its pipe, not our end.
  signal(SIGPIPE, SIG_IGN);
  return Session(options).Run();
}

}  // namespace feedrate
