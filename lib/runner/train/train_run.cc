#include "lib/runner/train/train_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/subject.h"
#include "lib/records/attempts.h"
#include "lib/records/job_identity.h"
#include "lib/runner/core/job_mode.h"
#include "lib/runner/core/measured_process.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/core/workers.h"
#include "lib/runner/data/remote_data.h"
#include "lib/runner/train/multi_node.h"
#include "lib/runner/train/train_checks.h"
#include "lib/runner/train/train_processes.h"
#include "lib/runner/train/train_row.h"
#include "lib/runner/train/train_tables.h"

namespace feedrate {
namespace {

// The largest batch size to try.
constexpr int kLargestBatch = 1 << 20;
// Trainings on several nodes use these ports in turn.
constexpr int kStorePorts = 500;
// How much longer max-autotune may be silent: it did not end within 440 s on an
// H200.
constexpr int kAutotuneFactor = 6;
constexpr char kAutotuneLibrary[] = "torch_max_autotune";

// Library, batch size and settings.
std::string Words(const Job& job) {
  std::string words = absl::StrCat(job.library(), " batch ", job.batch_size());
  std::map<std::string, std::string> sorted(job.settings().begin(),
                                            job.settings().end());
  for (const auto& setting : sorted) {
    absl::StrAppend(&words, " ", setting.first, "=", setting.second);
  }
  return words;
}

// Arguments of the processes that are not part of a job. `trial` counts the
// trainings of a library from 0: each has its own traces. `saves`: it writes
// the checkpoint and exports weights.
std::vector<std::string> WordsOf(const TrainRunOptions& options, int trial,
                                 bool saves) {
  std::vector<std::string> words;
  const TrainProfile& profile = options.profile;
  if (!profile.form.empty()) {
    words = {absl::StrCat("profile=", profile.form),
             absl::StrCat("profile_prefix=", profile.output,
                          trial == 0 ? "" : absl::StrCat("-", trial + 1)),
             absl::StrCat("profile_wait=", profile.wait),
             absl::StrCat("profile_warmup=", profile.warmup),
             absl::StrCat("profile_active=", profile.active),
             absl::StrCat("profile_repeat=", profile.repeat)};
  }
  if (!options.checkpoint.empty() && saves) {
    words.push_back(absl::StrCat("checkpoint=", options.checkpoint));
    words.push_back(
        absl::StrCat("checkpoint_every=", options.checkpoint_every));
  }
  if (saves) {
    if (!options.export_weights.empty()) {
      words.push_back(absl::StrCat("export=", options.export_weights));
    }
    if (!options.export_ema.empty()) {
      words.push_back(absl::StrCat("export_ema=", options.export_ema));
    }
  }
  if (!options.import_weights.empty()) {
    words.push_back(absl::StrCat("import=", options.import_weights));
  }
  if (!options.resume_from.empty()) {
    words.push_back(absl::StrCat("resume=", options.resume_from));
  }
  if (options.validate_every > 0) {
    words.push_back(
        absl::StrCat("validation_folder=", options.validation_dataset));
    words.push_back(absl::StrCat("validate_every=", options.validate_every));
  }
  return words;
}

// What the machine has done so far, and of that the processes that this one
// started and that have ended.
NoiseCounters CountNoise() {
  NoiseCounters counters;
  counters.processors = ReadProcessorCounters(Root());
  rusage children = {};
  getrusage(RUSAGE_CHILDREN, &children);
  counters.process.cpu_s =
      absl::ToDoubleSeconds(absl::DurationFromTimeval(children.ru_utime) +
                            absl::DurationFromTimeval(children.ru_stime));
  return counters;
}

// Each run is a training in processes of its own.
class TrainWork : public JobWork {
 public:
  // `noise` outlives this object.
  TrainWork(NoiseWatch* noise, std::function<absl::Status(Row*)> train)
      : noise_(noise), train_(std::move(train)) {}

  absl::Status Prepare() override { return absl::OkStatus(); }
  absl::Status Measure(int /*run_index*/, Row* row) override {
    const NoiseCounters before = CountNoise();
    const Stopwatch stopwatch;
    RETURN_IF_ERROR(train_(row));
    SetNoise(noise_->Judge(before, CountNoise(), stopwatch.Seconds()), row);
    return absl::OkStatus();
  }
  bool alive() const override { return true; }
  void End() override {}
  std::string timed_unit() const override { return ""; }

 private:
  NoiseWatch* const noise_;
  const std::function<absl::Status(Row*)> train_;
};

class TrainMode : public JobMode {
 public:
  // `options` outlives this object.
  TrainMode(const TrainRunOptions& options, absl::optional<SlurmStep> step,
            std::map<std::string, std::string> folders, std::string python,
            int most_processes)
      : options_(options),
        most_processes_(most_processes),
        step_(std::move(step)),
        checks_(options, std::move(folders), std::move(python)) {}

  bool Covers(const Job& job) const override { return job.mode() == "train"; }
  bool UsesServers() const override { return false; }
  std::string JobsTitle() const override { return "trainings"; }
  std::string JobTitle(const Job& job) const override { return Words(job); }

  // Also finds missing programs before anything runs.
  absl::Status Check(const Catalogue& catalogue, const Job& job) override {
    ASSIGN_OR_RETURN(const TrainSettings settings, TrainSettingsOf(job));
    RETURN_IF_ERROR(checks_.Check(catalogue, job, settings));
    // Either all tasks of Slurm train together, or rank 0 alone.
    if (!step_.has_value() || settings.world_size == 1 ||
        settings.world_size == step_->world_size) {
      return absl::OkStatus();
    }
    const int tasks = step_->world_size;
    return absl::InvalidArgumentError(
        absl::StrCat("world_size=", settings.world_size, ", but srun started ",
                     tasks, " tasks; say 1, ", tasks, " or -1"));
  }

  absl::Status LoadInput(const RunInputs& inputs, const Job&) override {
    progress_ = inputs.progress;
    if (!step_.has_value() || leader_ != nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(
        leader_,
        RankLeader::Gather(*step_, absl::Seconds(options_.run.limits.hang_s)));
    return absl::OkStatus();
  }

  std::unique_ptr<JobWork> MakeWork(const RunContext& context, const Job& job,
                                    const JobPolicy&) override {
    return std::make_unique<TrainWork>(
        context.noise,
        [this, &context, &job](Row* row) { return Train(context, job, row); });
  }

  absl::Status FinishRow(const RunContext& context, const Job& job,
                         Row* row) override {
    RETURN_IF_ERROR(lost_ranks_);
    row->set_unit("sample");
    if (job.device() == "cuda") {
      row->set_hardware(gpu_.empty() ? context.identity.gpu : gpu_);
    }
    if (row->status() == "ok") {
      CompareWithEarlier(rows_, row);
    } else {
      if (options_.find_batch_size && !Fits(*row)) {
        row->set_reason(
            absl::StrCat(row->reason(), "; largest that fits: ", fits_));
      }
      context.warn(
          absl::StrCat(Words(job), ": ", row->status(), ": ", row->reason()));
    }
    rows_.push_back(*row);
    return absl::OkStatus();
  }

  // The same job with twice the batch, until one does not fit.
  std::optional<Job> NextJob(const RunContext& context,
                             const Job& job) override {
    if (!options_.find_batch_size) return std::nullopt;
    const bool fits = !rows_.empty() && Fits(rows_.back());
    if (fits) fits_ = absl::StrCat(job.batch_size());
    if (fits && job.batch_size() <= kLargestBatch / 2) {
      Job next = job;
      next.set_batch_size(2 * job.batch_size());
      next.set_job_id(JobId(next));
      return next;
    }
    context.warn(absl::StrCat(job.library(),
                              ": the largest batch that fits is ", fits_));
    fits_ = kNoneFits;
    return std::nullopt;
  }

  absl::Status End() override { return WriteMetrics(); }

  // Tables, and last what limits each training.
  std::string Summary() const {
    std::string text = absl::StrCat(TrainTable(rows_), LoaderTable(rows_),
                                    ValidationTable(rows_));
    if (!options_.relative_to.empty()) {
      absl::StrAppend(&text, LadderTable(rows_, options_.relative_to));
    }
    for (const Row& row : rows_) {
      if (row.status() != "ok") continue;
      absl::StrAppend(&text, "train: ", Conclusion(row), "\n");
    }
    return text;
  }

  // Whether there are rows, none of which is ok.
  bool AllFailed() const {
    return !rows_.empty() &&
           std::none_of(rows_.begin(), rows_.end(),
                        [](const Row& row) { return row.status() == "ok"; });
  }

 private:
  static constexpr char kNoneFits[] = "none fits";

  // Whether there was enough memory, whatever the training learned.
  static bool Fits(const Row& row) {
    return row.status() == "ok" || row.status() == "diverged";
  }

  // Rates of the device are measured by the first training that can tell; all
  // others of the run share them.
  std::string RatesKey(const Job& job, const TrainSettings& settings) const {
    return absl::StrCat(job.device(), " ", settings.precision);
  }

  absl::Status Train(const RunContext& context, const Job& job, Row* row) {
    ASSIGN_OR_RETURN(const TrainSettings settings, TrainSettingsOf(job));
    for (const std::string& warning : checks_.TakeWarnings()) {
      context.warn(warning);
    }
    TrainCommand command = CommandOf(context, job, settings);
    if (leader_ != nullptr && settings.world_size > 1) {
      lost_ranks_ = OrderRanks(job, &command);
      RETURN_IF_ERROR(lost_ranks_);
    }
    ASSIGN_OR_RETURN(const std::vector<TrainReply> results,
                     RunTrainProcesses(command));
    TrainDevicePeak& peak = peaks_[RatesKey(job, settings)];
    // What the process used, and not the first of the machine.
    gpu_ = results[0].gpu();
    if (job.device() == "cuda") {
      peak.gpu = gpu_.empty() ? context.identity.gpu : gpu_;
    }
    peak.given_flops = options_.peak_tflops * 1e12;
    if (peak.matmul_flops == 0) {
      peak.matmul_flops = results[0].matmul_flops();
      peak.copy_bytes = results[0].copy_bytes();
    }
    SetTrainResult(job, settings, peak, results, row);
    if (results[0].has_objects()) {
      SetObjects(results, *checks_.store(checks_.folder(job.dataset())), row);
    }
    if (row->has_cache()) SetCache(Cache(row->cache()), options_.cold, row);
    if (const int64_t skipped = row->train().skipped_files(); skipped > 0) {
      const LoaderFault& first = row->train().skipped(0);
      context.warn(absl::StrCat(Words(job), ": ", skipped,
                                " files were skipped; the first: ",
                                first.path(), ": ", first.reason()));
    }
    if (const std::string& why = row->train().resumed().restarted();
        !why.empty()) {
      context.warn(absl::StrCat(Words(job),
                                ": the data starts from its beginning: ", why));
    }
    for (const std::string& trace : results[0].traces()) {
      context.warn(absl::StrCat("trace: ", trace));
    }
    if (!options_.profile.form.empty()) {
      std::cerr << KernelTable(row->train());
    }
    return absl::OkStatus();
  }

  TrainCommand CommandOf(const RunContext& context, const Job& job,
                         const TrainSettings& settings) {
    const WorkerCommand& worker = checks_.worker(job.library());
    TrainCommand command;
    command.argv = worker.argv;
    command.environment = worker.environment;
    for (const std::string& word : settings.words) {
      command.argv.push_back(word);
    }
    const std::pair<std::string, int> kind{job.library(), settings.world_size};
    // The one with a single process that others are compared with must not
    // write what they continue from.
    const bool saves = settings.world_size == most_processes_;
    for (const std::string& word : WordsOf(options_, trials_[kind]++, saves)) {
      command.argv.push_back(word);
    }
    if (!settings.loader.empty()) AddLoader(job, settings, &command);
    const auto peak = peaks_.find(RatesKey(job, settings));
    if (peak != peaks_.end() && peak->second.matmul_flops > 0) {
      command.argv.push_back("rates=0");
    }
    command.world_size = settings.world_size;
    command.first_device = options_.device_index;
    if (settings.world_size == 1 && options_.device_index > 0) {
      command.argv.push_back(
          absl::StrCat("device_index=", options_.device_index));
    }
    if (settings.world_size > 1 && leader_ == nullptr &&
        job.device() == "cpu" && job.settings().count("threads") == 0) {
      // The cores are shared equally.
      command.argv.push_back(absl::StrCat(
          "threads=",
          std::max(1, DeviceCount(job.device()) / settings.world_size)));
    }
    command.silence = absl::Seconds(context.limits.hang_s);
    // Its first step takes minutes, without a word.
    if (job.library() == kAutotuneLibrary && !options_.timeout_given) {
      command.silence *= kAutotuneFactor;
    }
    command.memory_limit_bytes = context.limits.memory_bytes;
    command.interrupt_fd = context.interrupt_fd;
    const std::string what = absl::StrCat("steps of ", Words(job));
    command.progress = [this, what](int64_t done, int64_t total) {
      progress_(what, done, total);
    };
    return command;
  }

  void AddLoader(const Job& job, const TrainSettings& settings,
                 TrainCommand* command) const {
    const std::string& place = checks_.folder(job.dataset());
    command->argv.push_back(absl::StrCat("folder=", WithoutQueries(place)));
    if (const auto* const store = checks_.store(place)) {
      for (const auto& [name, value] : *store) {
        command->argv.push_back(absl::StrCat("objects.", name, "=", value));
      }
    }
    if (options_.cold) command->argv.push_back("cold=1");
    for (const std::string& word : checks_.RecipeWords(settings)) {
      command->argv.push_back(word);
    }
    const WorkerCommand* const feeder = checks_.feeder(settings.loader);
    if (feeder == nullptr) return;
    command->argv.push_back(absl::StrCat("feeder=", feeder->argv[0]));
    command->argv.push_back(absl::StrCat("feeder_script=", feeder->argv[1]));
    for (const auto& variable : feeder->environment) {
      command->environment.insert(variable);
    }
  }

  // The other ranks start their processes; this one starts only its own.
  absl::Status OrderRanks(const Job& job, TrainCommand* command) {
    const SlurmStep& step = *step_;
    // A new port for each training: the last one may linger.
    command->store = absl::StrCat("tcp://", step.leader, ":",
                                  step.port + 1 + rows_.size() % kStorePorts);
    command->local_ranks = 1;
    command->first_device = step.local_rank;
    RankOrder order;
    order.library = job.library();
    const size_t program = checks_.worker(job.library()).argv.size();
    order.words.assign(command->argv.begin() + program, command->argv.end());
    order.words.push_back(absl::StrCat("store=", command->store));
    return leader_->Order(order);
  }

  absl::Status WriteMetrics() {
    if (options_.metrics.empty()) return absl::OkStatus();
    const auto last =
        std::find_if(rows_.rbegin(), rows_.rend(),
                     [](const Row& row) { return row.status() == "ok"; });
    if (last == rows_.rend()) {
      return absl::AbortedError(absl::StrCat(
          options_.metrics, ": not written, because no training is ok"));
    }
    // Of several attempts at a run, the cleanest counts.
    std::map<int, const Row*> cleanest;
    for (const Row& row : rows_) {
      if (row.job_id() != last->job_id()) continue;
      const Row*& best = cleanest[row.run_index()];
      if (best == nullptr || AttemptRank(row) <= AttemptRank(*best)) {
        best = &row;
      }
    }
    std::vector<Row> runs;
    for (const auto& [run, row] : cleanest) {
      if (row->status() != "ok") {
        return absl::AbortedError(
            absl::StrCat(options_.metrics, ": not written, because run ", run,
                         " is ", row->status(), ": ", row->reason()));
      }
      runs.push_back(*row);
    }
    return WriteFileAtomically(options_.metrics, MetricsJson(runs));
  }

  const TrainRunOptions& options_;
  // Of a training of this run.
  const int most_processes_;
  const absl::optional<SlurmStep> step_;
  TrainChecks checks_;
  // Measured rates by RatesKey.
  std::map<std::string, TrainDevicePeak> peaks_;
  // Trainings so far, by library and number of processes. The one with a single
  // process that others are compared with leaves its traces to them.
  std::map<std::pair<std::string, int>, int> trials_;
  std::function<void(const std::string&, int64_t, int64_t)> progress_;
  std::unique_ptr<RankLeader> leader_;
  // Why rank 0 cannot reach another rank, which ends the run.
  absl::Status lost_ranks_;
  // The GPU of the last training.
  std::string gpu_;
  // The largest batch of the job that fits.
  std::string fits_ = kNoneFits;
  std::vector<Row> rows_;
};

constexpr char kStore[] = "store=";

// This rank's part of `order`. The last argument says where all ranks meet.
absl::StatusOr<TrainCommand> CommandOf(const RunLimits& limits,
                                       const SlurmStep& step,
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
  command.world_size = step.world_size;
  command.first_rank = step.rank;
  command.local_ranks = 1;
  command.first_device = step.local_rank;
  command.silence = absl::Seconds(limits.hang_s);
  command.memory_limit_bytes = limits.memory_bytes;
  return command;
}

// `train` on a node that is not the first: starts this rank's process of each
// training that rank 0 orders, until rank 0 ends. Writes no rows: a process
// that fails here makes rank 0's process fail too, which gives the row; here
// the error goes to standard error. REQUIRES: step.rank > 0.
absl::StatusOr<ExitCode> FollowTrain(const RunOptions& options,
                                     const SlurmStep& step) {
  signal(SIGPIPE, SIG_IGN);
  const Interrupt interrupt(kInterruptGraceSeconds);
  ASSIGN_OR_RETURN(const std::string configs,
                   FindConfigsFolder(options.configs_folder, ""));
  const WorkerPlaces places = PlacesOfThisProgram(configs);
  ASSIGN_OR_RETURN(
      const std::unique_ptr<RankFollower> link,
      RankFollower::Join(step, absl::Seconds(options.limits.hang_s)));
  for (;;) {
    const auto order = link->Next(interrupt.fd());
    if (absl::IsCancelled(order.status())) return interrupt.exit_code();
    RETURN_IF_ERROR(order.status());
    if (!order->has_value()) return ExitCode::kDone;
    ASSIGN_OR_RETURN(TrainCommand command,
                     CommandOf(options.limits, step, places, **order));
    command.interrupt_fd = interrupt.fd();
    const absl::Status status = RunTrainProcesses(command).status();
    if (absl::IsCancelled(status)) return interrupt.exit_code();
    if (!status.ok()) {
      std::cerr << "train: " << PrintableText(status.message()) << "\n";
    }
  }
}

}  // namespace

absl::StatusOr<ExitCode> RunTrain(const TrainRunOptions& options) {
  RETURN_IF_ERROR(CheckTrainOptions(options));
  ASSIGN_OR_RETURN(const absl::optional<SlurmStep> step, ThisSlurmStep());
  ASSIGN_OR_RETURN(TrainJobs jobs, LoadTrainJobs(options.source, step));
  if (step.has_value() && step->rank > 0) {
    return FollowTrain(options.run, *step);
  }
  RunOptions run = options.run;
  run.cold = options.cold;
  run.source.tool = "train";
  run.equivalence = false;
  if (options.find_batch_size) {
    run.repeat = true;
    run.limits.retries = 0;
    for (Job& job : jobs.list.jobs) {
      job.clear_run_indexes();
      job.add_run_indexes(0);
    }
  }
  int most_processes = 1;
  RETURN_IF_ERROR(CheckCheckpoints(options, jobs.list.jobs, &most_processes));
  const auto mode = std::make_shared<TrainMode>(
      options, step, jobs.folders, jobs.list.config.selection().python(),
      most_processes);
  run.list = std::move(jobs.list);
  run.modes = {mode};
  ASSIGN_OR_RETURN(const ExitCode code, RunJobs(run));
  if (options.budget) std::cerr << PrintableLines(mode->Summary());
  return code == ExitCode::kDone && mode->AllFailed() ? ExitCode::kRunFailed
                                                      : code;
}

}  // namespace feedrate
