#include "lib/runner/train/train_run.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/config/load.h"
#include "lib/draw/progress.h"
#include "lib/machine/machine.h"
#include "lib/records/job_identity.h"
#include "lib/runner/core/job_list.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/train/multi_node.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/runner/train/train_processes.h"
#include "lib/runner/train/train_row.h"

namespace feedrate {
namespace {

// The largest batch size to try.
constexpr int kLargestBatch = 1 << 20;
// Trainings on several nodes use these ports in turn.
constexpr int kStorePorts = 500;

class TrainSession {
 public:
  explicit TrainSession(const TrainRunOptions& options)
      : options_(options),
        progress_(std::cerr, isatty(STDERR_FILENO) != 0),
        warn_([this](const std::string& text) { Say(text); }) {}

  absl::StatusOr<ExitCode> Run() {
    const absl::Status status = RunAll();
    progress_.Finish();
    if (absl::IsCancelled(status) && interrupt_.happened()) {
      Say("interrupted; what is written is whole, --resume carries on");
      return interrupt_.exit_code();
    }
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(WriteMetrics());
    if (options_.budget) std::cerr << TrainTable(rows_) << LoaderTable(rows_);
    return Verdict();
  }

 private:
  absl::Status RunAll() {
    ASSIGN_OR_RETURN(const std::string configs,
                     FindConfigsFolder(options_.configs_folder, ""));
    const WorkerPlaces places = PlacesOfThisProgram(configs);
    for (const Job& job : options_.jobs) {
      RETURN_IF_ERROR(FindPrograms(places, job));
    }
    RETURN_IF_ERROR(CheckWorldSizes());
    RETURN_IF_ERROR(OpenOutput());
    RETURN_IF_ERROR(GatherRanks());
    total_ = options_.jobs.size();
    for (const Job& job : options_.jobs) {
      RETURN_IF_ERROR(options_.find_batch_size ? FindBatchSize(job)
                                               : RunJob(job));
      ++done_jobs_;
    }
    return absl::OkStatus();
  }

  // Finds missing programs before anything runs.
  absl::Status FindPrograms(const WorkerPlaces& places, const Job& job) {
    if (commands_.count(job.library()) == 0) {
      ASSIGN_OR_RETURN(commands_[job.library()],
                       TrainWorker(places, job.library()));
    }
    ASSIGN_OR_RETURN(const TrainSettings settings, TrainSettingsOf(job));
    if (settings.loader.empty()) return absl::OkStatus();
    if (options_.folders.count(job.dataset()) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dataset: the folder of \"", job.dataset(),
                       "\" is not named; scope e2e reads images from it"));
    }
    if (settings.loader == kNativeLoader || settings.loader == kMixtureLoader ||
        feeders_.count(settings.loader) > 0) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(feeders_[settings.loader],
                     FeederWorker(places, settings.loader));
    return absl::OkStatus();
  }

  // Either all tasks of Slurm train together, or rank 0 alone.
  absl::Status CheckWorldSizes() const {
    if (!options_.step.has_value()) return absl::OkStatus();
    for (const Job& job : options_.jobs) {
      ASSIGN_OR_RETURN(const TrainSettings settings, TrainSettingsOf(job));
      const int tasks = options_.step->world_size;
      if (settings.world_size == 1 || settings.world_size == tasks) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "world_size=", settings.world_size, ", but srun started ", tasks,
          " tasks; say 1, ", tasks, " or -1"));
    }
    return absl::OkStatus();
  }

  absl::Status GatherRanks() {
    if (!options_.step.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(leader_,
                     RankLeader::Gather(*options_.step, options_.silence));
    return absl::OkStatus();
  }

  absl::Status OpenOutput() {
    machine_ = ReadMachine(ThisMachine());
    const RunHead head = MakeRunHead(machine_, options_.config, 0, absl::Now());
    identity_ = head.identity;
    RowOutput::Options output;
    output.path = options_.output;
    output.resume = options_.resume;
    output.warn = warn_;
    ASSIGN_OR_RETURN(output_, RowOutput::Open(output));
    output_->SetHead(head.env, head.run);
    done_ = std::make_unique<DoneRuns>(
        identity_.machine_profile,
        [](const std::string&) { return std::string(); });
    if (!options_.resume) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     output_->ExistingFiles());
    return done_->Read(files, warn_);
  }

  absl::Status RunJob(const Job& job) {
    for (const int run_index : job.run_indexes()) {
      if (done_->Done(job.job_id(), run_index)) continue;
      const int first = done_->NextAttempt(job.job_id(), run_index);
      for (int attempt = 0; attempt <= options_.retries; ++attempt) {
        ASSIGN_OR_RETURN(const Row row,
                         RunOnce(job, run_index, first + attempt, ""));
        if (row.status() == "ok") break;
      }
    }
    return absl::OkStatus();
  }

  // Writes a row for each batch size that fits, and one for the first that does
  // not.
  absl::Status FindBatchSize(Job job) {
    std::string fits = "none fits";
    for (; job.batch_size() <= kLargestBatch;
         job.set_batch_size(2 * job.batch_size())) {
      job.set_job_id(JobId(job));
      const std::string remark = absl::StrCat("largest that fits: ", fits);
      ASSIGN_OR_RETURN(const Row row, RunOnce(job, 0, 0, remark));
      if (row.status() != "ok") break;
      fits = absl::StrCat(job.batch_size());
    }
    Say(absl::StrCat(job.library(), ": the largest batch that fits is ", fits));
    return absl::OkStatus();
  }

  absl::StatusOr<Row> RunOnce(const Job& job, int run_index, int attempt,
                              const std::string& remark) {
    ASSIGN_OR_RETURN(const TrainSettings settings, TrainSettingsOf(job));
    progress_.Show("trainings", done_jobs_, total_, Words(job));
    const absl::Time start = absl::Now();
    TrainCommand command = CommandOf(job, settings);
    if (leader_ != nullptr && settings.world_size > 1) {
      RETURN_IF_ERROR(OrderRanks(job, &command));
    }
    const absl::StatusOr<std::vector<TrainResult>> results =
        RunTrainProcesses(command);
    if (absl::IsCancelled(results.status())) return results.status();
    Row row = RowOf(job, identity_, "sample");
    row.set_run_index(run_index);
    row.set_attempt(attempt);
    row.set_started_at(TimeText(start));
    if (job.device() == "cuda") row.set_hardware(GpuName());
    if (results.ok()) {
      TrainDevicePeak peak;
      if (job.device() == "cuda") peak.gpu = GpuName();
      peak.given_flops = options_.peak_tflops * 1e12;
      SetTrainResult(job, settings, peak, *results, &row);
      CompareWithEarlier(rows_, &row);
      ShowProfile((*results)[0]);
    } else {
      SetFailure(results.status(), &row);
      if (!remark.empty()) {
        row.set_reason(absl::StrCat(row.reason(), "; ", remark));
      }
      Say(absl::StrCat(Words(job), ": ", row.status(), ": ", row.reason()));
    }
    row.set_duration_s(absl::ToDoubleSeconds(absl::Now() - start));
    RETURN_IF_ERROR(output_->Write(row, job.output()));
    rows_.push_back(row);
    return row;
  }

  TrainCommand CommandOf(const Job& job, const TrainSettings& settings) {
    const WorkerCommand& worker = commands_[job.library()];
    TrainCommand command;
    command.argv = worker.argv;
    command.environment = worker.environment;
    for (const std::string& word : settings.words) {
      command.argv.push_back(word);
    }
    for (const std::string& word : options_.words) command.argv.push_back(word);
    if (!settings.loader.empty()) AddLoader(job, settings, &command);
    command.world_size = settings.world_size;
    if (settings.world_size > 1 && leader_ == nullptr &&
        job.device() == "cpu" && job.settings().count("threads") == 0) {
      // The cores are shared equally.
      const int cores = std::max(1, machine_.cpu.usable_cores);
      command.argv.push_back(
          absl::StrCat("threads=", std::max(1, cores / settings.world_size)));
    }
    command.store =
        (std::filesystem::temp_directory_path() /
         absl::StrCat("feedrate_train_", identity_.run_id, "_", rows_.size()))
            .string();
    command.silence = options_.silence;
    command.memory_limit_bytes = options_.memory_limit_bytes;
    command.interrupt_fd = interrupt_.fd();
    const std::string words = Words(job);
    command.progress = [this, words](int64_t done, int64_t total) {
      progress_.Show(absl::StrCat("steps of ", words), done, total, "");
    };
    return command;
  }

  void AddLoader(const Job& job, const TrainSettings& settings,
                 TrainCommand* command) const {
    command->argv.push_back(
        absl::StrCat("folder=", options_.folders.at(job.dataset())));
    const auto feeder = feeders_.find(settings.loader);
    if (feeder == feeders_.end()) return;
    command->argv.push_back(absl::StrCat("feeder=", feeder->second.argv[0]));
    command->argv.push_back(
        absl::StrCat("feeder_script=", feeder->second.argv[1]));
    for (const auto& variable : feeder->second.environment) {
      command->environment.insert(variable);
    }
  }

  // The other ranks start their processes; this one starts only its own.
  absl::Status OrderRanks(const Job& job, TrainCommand* command) {
    const SlurmStep& step = *options_.step;
    // A new port for each training: the last one may linger.
    command->store = absl::StrCat("tcp://", step.leader, ":",
                                  step.port + 1 + rows_.size() % kStorePorts);
    command->local_ranks = 1;
    command->first_device = step.local_rank;
    RankOrder order;
    order.library = job.library();
    const size_t program = commands_[job.library()].argv.size();
    order.words.assign(command->argv.begin() + program, command->argv.end());
    order.words.push_back(absl::StrCat("store=", command->store));
    return leader_->Order(order);
  }

  static std::string Words(const Job& job) {
    std::string words =
        absl::StrCat(job.library(), " batch ", job.batch_size());
    std::map<std::string, std::string> sorted(job.settings().begin(),
                                              job.settings().end());
    for (const auto& setting : sorted) {
      absl::StrAppend(&words, " ", setting.first, "=", setting.second);
    }
    return words;
  }

  std::string GpuName() const {
    return machine_.gpu.gpus.empty() ? "" : machine_.gpu.gpus[0].name;
  }

  void ShowProfile(const TrainResult& result) {
    for (const std::string& trace : result.traces) {
      Say(absl::StrCat("trace: ", trace));
    }
    if (!result.kernels.empty()) std::cerr << KernelTable(result.kernels);
  }

  absl::Status WriteMetrics() {
    if (options_.metrics.empty()) return absl::OkStatus();
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
      if (row->status() == "ok") {
        return WriteFileAtomically(options_.metrics, MetricsJson(*row));
      }
    }
    return absl::AbortedError(absl::StrCat(
        options_.metrics, ": not written, because no training is ok"));
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
    Say(absl::StrCat(rows, " rows (", absl::StrJoin(parts, ", "), ")"));
    return fails ? ExitCode::kCheckSaidNo : ExitCode::kDone;
  }

  void Say(const std::string& text) {
    progress_.Finish();
    std::cerr << "train: " << text << "\n";
  }

  const TrainRunOptions& options_;
  const Interrupt interrupt_;
  Progress progress_;
  const std::function<void(const std::string&)> warn_;
  std::map<std::string, WorkerCommand> commands_;
  // Programs of loaders that are not ours.
  std::map<std::string, WorkerCommand> feeders_;
  MachineInfo machine_;
  RunIdentity identity_;
  std::unique_ptr<RankLeader> leader_;
  std::unique_ptr<RowOutput> output_;
  std::unique_ptr<DoneRuns> done_;
  std::vector<Row> rows_;
  int64_t done_jobs_ = 0;
  int64_t total_ = 0;
};

constexpr char kStore[] = "store=";

// This rank's part of `order`. The last argument says where all ranks meet.
absl::StatusOr<TrainCommand> CommandOf(const TrainRunOptions& options,
                                       const WorkerPlaces& places,
                                       RankOrder order) {
  if (order.words.empty() || order.words.back().rfind(kStore, 0) != 0) {
    return absl::DataLossError("rank 0 does not say where to meet");
  }
  TrainCommand command;
  command.store = order.words.back().substr(sizeof(kStore) - 1);
  order.words.pop_back();
  ASSIGN_OR_RETURN(const WorkerCommand worker,
                   TrainWorker(places, order.library));
  command.argv = worker.argv;
  command.environment = worker.environment;
  command.argv.insert(command.argv.end(), order.words.begin(),
                      order.words.end());
  command.world_size = options.step->world_size;
  command.first_rank = options.step->rank;
  command.local_ranks = 1;
  command.first_device = options.step->local_rank;
  command.silence = options.silence;
  command.memory_limit_bytes = options.memory_limit_bytes;
  return command;
}

// `train` on a node that is not the first: starts this rank's process of each
// training that rank 0 orders, until rank 0 ends. Writes no rows: a process
// that fails here makes rank 0's process fail too, which gives the row; here
// the error goes to standard error. REQUIRES: options.step, with a rank above
// 0.
absl::StatusOr<ExitCode> FollowTrain(const TrainRunOptions& options) {
  const Interrupt interrupt;
  ASSIGN_OR_RETURN(const std::string configs,
                   FindConfigsFolder(options.configs_folder, ""));
  const WorkerPlaces places = PlacesOfThisProgram(configs);
  ASSIGN_OR_RETURN(const std::unique_ptr<RankFollower> link,
                   RankFollower::Join(*options.step, options.silence));
  for (;;) {
    const auto order = link->Next(interrupt.fd());
    if (absl::IsCancelled(order.status())) return interrupt.exit_code();
    RETURN_IF_ERROR(order.status());
    if (!order->has_value()) return ExitCode::kDone;
    ASSIGN_OR_RETURN(TrainCommand command, CommandOf(options, places, **order));
    command.interrupt_fd = interrupt.fd();
    const absl::Status status = RunTrainProcesses(command).status();
    if (absl::IsCancelled(status)) return interrupt.exit_code();
    if (!status.ok()) std::cerr << "train: " << status.message() << "\n";
  }
}

}  // namespace

absl::StatusOr<ExitCode> RunTrain(const TrainRunOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  if (options.step.has_value() && options.step->rank > 0) {
    return FollowTrain(options);
  }
  return TrainSession(options).Run();
}

}  // namespace feedrate
