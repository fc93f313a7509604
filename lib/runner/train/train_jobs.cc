#include "lib/runner/train/train_jobs.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/machine/machine.h"
#include "lib/records/job_identity.h"
#include "lib/records/train_settings.h"

namespace feedrate {
namespace {

// An engine of subjects.
constexpr char kCompileEngine[] = "compile";
constexpr char kWorldSize[] = "world_size";
constexpr char kBf16Library[] = "torch_compile_bf16";
constexpr int kMostBatchSize = 1 << 30;
// More are a mistake on any machine.
constexpr int kMostWorkers = 1024;

absl::Status CheckBetween(absl::string_view flag, int value, int least,
                          int most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": \"", value, "\" is not a whole number from ",
                   least, " to ", most));
}

absl::Status CheckMixture(const Job& job, const TrainSettings& s) {
  if (s.loader != kMixtureLoader) {
    return job.settings().count("mixture") == 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     "--mixture: settings of --loader=mixture; leave it out");
  }
  if (job.settings().count("epochs") > 0) {
    return absl::InvalidArgumentError(
        "--epochs: a mixture has no end; use --measured_steps");
  }
  if (job.batch_size() % 2 != 0) {
    return absl::InvalidArgumentError(
        "--batch_size: samples of a mixture have two frames; use an even "
        "number");
  }
  return absl::OkStatus();
}

// Settings of how a model learns that only our own step has.
absl::Status CheckRecipe(const Job& job, const TrainSettings& s) {
  const auto has = [&job](const char* name) {
    return job.settings().count(name) > 0;
  };
  for (const char* name :
       {"deterministic", "schedule", "schedule_steps", "learning_rate_warmup",
        "learning_rate_min", "label_smoothing", "stochastic_depth",
        "ema_decay"}) {
    if (!has(name) || job.library() == kTrainLibrary) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, ": only library feedrate has it; leave it out for ",
        job.library()));
  }
  if (!has("schedule") && (has("schedule_steps") || has("learning_rate_min"))) {
    return absl::InvalidArgumentError(
        "--schedule_steps and --learning_rate_min: the learning rate does not "
        "fall; add --schedule=cosine, or leave them out");
  }
  if (TrainNumber(job, "learning_rate_min") >
      TrainNumber(job, "learning_rate")) {
    return absl::InvalidArgumentError(
        "--learning_rate_min is above --learning_rate");
  }
  if (has("schedule_steps") && TrainNumber(job, "learning_rate_warmup") >
                                   TrainNumber(job, "schedule_steps")) {
    return absl::InvalidArgumentError(
        "--learning_rate_warmup is longer than --schedule_steps");
  }
  if (has("label_smoothing") && s.model.kind != ModelKind::kVit) {
    return absl::InvalidArgumentError(
        "--label_smoothing: only classes of images are smoothed; leave it out "
        "for text");
  }
  if (has("stochastic_depth") &&
      (s.engine == "fused" || s.precision == "fp8")) {
    return absl::InvalidArgumentError(
        "--stochastic_depth: engine fused does not have it; use "
        "--engine=eager and --precision=bf16");
  }
  if ((has("schedule") || has("learning_rate_warmup")) && s.graphs &&
      s.engine == "eager") {
    return absl::InvalidArgumentError(
        "--graphs: a graph of engine eager keeps its learning rate; use "
        "--engine=fused, or leave --schedule and --learning_rate_warmup out");
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(const Job& job, const TrainSettings& s) {
  if (s.graphs && job.device() != "cuda") {
    return absl::InvalidArgumentError(
        "--graphs: CUDA graphs need --device=cuda");
  }
  if (s.graphs && s.world_size > 1) {
    return absl::InvalidArgumentError(
        "--graphs: a graph is of one process; leave --world_size out");
  }
  if (s.graphs && !s.optimizer_in_step) {
    return absl::InvalidArgumentError(
        "--graphs has the optimizer inside; leave --no-optimizer-in-step out");
  }
  const bool is_subject = IsSubject(job.library());
  if (IsTorchFile(job.library()) &&
      (!s.engine.empty() || s.activation_checkpointing)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--engine and --activation_checkpointing: the file ",
                     job.library(), " runs as it is; leave them out"));
  }
  if (is_subject ? s.engine == "fused" : s.engine == kCompileEngine) {
    return absl::InvalidArgumentError(
        "--engine: library feedrate has fused and eager, subjects have eager "
        "and compile");
  }
  if (!s.engine.empty() && job.library() != kTrainLibrary && !is_subject) {
    return absl::InvalidArgumentError(
        absl::StrCat("--engine: only library feedrate and subjects have "
                     "engines; leave it out for ",
                     job.library()));
  }
  if (is_subject && job.settings().count("model") > 0) {
    return absl::InvalidArgumentError(
        "--model: a subject is its own model; leave it out");
  }
  if (s.engine == "fused" &&
      (job.device() != "cuda" ||
       (s.precision != "bf16" && s.precision != "fp8"))) {
    return absl::InvalidArgumentError(
        "--engine=fused needs --device=cuda and --precision=bf16 or fp8");
  }
  if (s.precision == "fp8" &&
      (job.device() != "cuda" || job.library() != kTrainLibrary ||
       s.engine == "eager" || s.model.kind != ModelKind::kVit ||
       s.model.width < 384)) {
    return absl::InvalidArgumentError(
        "--precision: fp8 needs --device=cuda, --libraries=feedrate with its "
        "fused engine, and --model=vit5_small or vit5_base");
  }
  if (s.precision == "tf32" && job.device() != "cuda") {
    return absl::InvalidArgumentError(
        "--precision: tf32 is CUDA's; use fp32 or bf16 on the CPU");
  }
  if (s.precision == "fp16" && s.optimizer != "adamw") {
    return absl::InvalidArgumentError(
        "--precision: fp16 skips steps, which only --optimizer=adamw can");
  }
  if (job.library() == kBf16Library && s.precision != "bf16") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--libraries: ", job.library(), " needs --precision=bf16"));
  }
  const bool is_e2e = job.scope() == "e2e";
  if (!is_e2e && !s.loader.empty()) {
    return absl::InvalidArgumentError(
        "--loader: scope synthetic reads no files; add --scope=e2e and "
        "--dataset, the folder of images");
  }
  if ((s.loader == kGpuLoader || s.loader == kGpuDali) &&
      job.device() != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--loader=", s.loader, " decodes on a GPU; add --device=cuda, or use ",
        s.loader == kGpuDali ? kDali : kNativeLoader));
  }
  if (s.loader == kGpuDali && s.world_size > 1) {
    return absl::InvalidArgumentError(
        "--loader=dali_gpu feeds the first GPU; leave --world_size out");
  }
  if (!is_e2e && !job.dataset().empty() &&
      !absl::StartsWith(job.dataset(), "synthetic:")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--dataset: scope synthetic would not read \"", job.dataset(),
        "\"; add --scope=e2e, or leave --dataset out"));
  }
  if (!is_e2e && job.settings().count("epochs") > 0) {
    return absl::InvalidArgumentError(
        "--epochs: only --scope=e2e has data to pass over");
  }
  if (s.augment != "flip" && (!is_e2e || s.loader == kMixtureLoader)) {
    return absl::InvalidArgumentError(
        "--augment: only images of --scope=e2e are augmented, and those of a "
        "mixture are not; leave it out");
  }
  if (job.settings().count("prefetch") > 0 &&
      (!is_e2e || s.loader == kMixtureLoader)) {
    return absl::InvalidArgumentError(
        is_e2e ? "--prefetch: a mixture has --mixture=queue_depth=N instead"
               : "--prefetch: only --scope=e2e has a loader");
  }
  if (job.settings().count("fused_decode") > 0 && s.loader != kDali &&
      s.loader != kGpuDali) {
    return absl::InvalidArgumentError(
        "--fused_decode: only --loader=dali and dali_gpu decode both ways");
  }
  RETURN_IF_ERROR(CheckMixture(job, s));
  RETURN_IF_ERROR(CheckRecipe(job, s));
  if (is_e2e &&
      (s.model.kind != ModelKind::kVit || job.library() != kTrainLibrary)) {
    return absl::InvalidArgumentError(
        "--scope=e2e: images feed a ViT of library feedrate");
  }
  if (s.model.kind != ModelKind::kVit && job.settings().count("mixing") > 0) {
    return absl::InvalidArgumentError(
        "--mixing: only images are mixed; leave it out for text");
  }
  return absl::OkStatus();
}

std::string DefaultPrecision(const Job& job) {
  return job.device() == "cuda" ? "bf16" : "fp32";
}

std::vector<std::string> TrainLibraries() {
  return {kTrainLibrary,           "torch_eager",        "torch_compile",
          "torch_reduce_overhead", "torch_max_autotune", kBf16Library};
}

}  // namespace

absl::StatusOr<TrainSettings> TrainSettingsOf(const Job& job) {
  if (!IsSubject(job.library())) {
    RETURN_IF_ERROR(
        CheckChoice("--libraries", job.library(), TrainLibraries()));
  }
  RETURN_IF_ERROR(CheckChoice("--scope", job.scope(), {"synthetic", "e2e"}));
  RETURN_IF_ERROR(CheckChoice("--device", job.device(), {"cpu", "cuda"}));
  RETURN_IF_ERROR(
      CheckBetween("batch_size", job.batch_size(), 1, kMostBatchSize));
  RETURN_IF_ERROR(CheckBetween("workers", job.workers(), 0, kMostWorkers));
  TrainSettings settings;
  settings.words = {absl::StrCat("batch_size=", job.batch_size()),
                    absl::StrCat("device=", job.device()),
                    absl::StrCat("seed=", job.seed())};
  const std::map<std::string, std::string> sorted(job.settings().begin(),
                                                  job.settings().end());
  for (const auto& [name, value] : sorted) {
    const TrainSetting* const setting = FindTrainSetting(name);
    if (setting == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("setting \"", name, "\" is unknown",
                       DidYouMean(name, TrainSettingNames())));
    }
    const absl::Status status = CheckTrainSetting(*setting, value);
    if (!status.ok() && name == kWorldSize) {
      return absl::InvalidArgumentError(
          absl::StrCat(status.message(), " and not -1"));
    }
    RETURN_IF_ERROR(status);
    // A process gets its world size with its rank, and the steps of its loader
    // instead of their name.
    if (name == kWorldSize || name == "augment") continue;
    settings.words.push_back(absl::StrCat(name, "=", value));
  }
  settings.model = *ModelNamed(TrainText(job, "model"));
  settings.precision = TrainText(job, "precision");
  settings.optimizer = TrainText(job, "optimizer");
  settings.clip_norm = TrainNumber(job, "clip_norm");
  settings.accumulation = static_cast<int>(TrainNumber(job, "accumulation"));
  settings.warmup = static_cast<int64_t>(TrainNumber(job, "warmup"));
  settings.steps = static_cast<int64_t>(TrainNumber(job, "steps"));
  settings.optimizer_in_step = TrainNumber(job, "optimizer_in_step") != 0;
  settings.graphs = TrainNumber(job, "graphs") != 0;
  settings.engine = TrainText(job, "engine");
  settings.activation_checkpointing =
      TrainNumber(job, "activation_checkpointing") != 0;
  settings.deterministic = TrainNumber(job, "deterministic") != 0;
  settings.weight_decay = TrainNumber(job, "weight_decay");
  settings.augment = TrainText(job, "augment");
  settings.world_size = static_cast<int>(TrainNumber(job, kWorldSize));
  settings.loader = TrainText(job, "loader");
  if (job.scope() == "e2e" && settings.loader.empty()) {
    settings.loader = kNativeLoader;
  }
  if (settings.precision.empty()) {
    settings.precision = DefaultPrecision(job);
    settings.words.push_back(absl::StrCat("precision=", settings.precision));
  }
  if (job.scope() == "e2e") {
    settings.words.push_back(absl::StrCat("workers=", job.workers()));
    if (sorted.count("loader") == 0) {
      settings.words.push_back(absl::StrCat("loader=", kNativeLoader));
    }
  }
  RETURN_IF_ERROR(CheckTogether(job, settings));
  return settings;
}

namespace {

void DropUsual(Job* job) {
  for (const TrainSetting& setting : TrainSettingTable()) {
    const auto found = job->settings().find(setting.name);
    if (found != job->settings().end() && found->second == setting.usual) {
      job->mutable_settings()->erase(setting.name);
    }
  }
}

// Checks a job, gives it an id, and appends it if it is new. A job with several
// processes comes after the same job with one.
absl::Status AddJob(Job job, std::set<std::string>* ids,
                    std::vector<Job>* jobs) {
  DropUsual(&job);
  auto& named = *job.mutable_settings();
  // Reports group by model and precision, so a job names both.
  named.insert({"model", TrainText(job, "model")});
  if (named["precision"].empty()) named["precision"] = DefaultPrecision(job);
  // A subject is its own model, and is trained in both ways unless one is
  // named, or it is a file.
  if (IsSubject(job.library())) {
    named.erase("model");
    if (named.count("engine") == 0 && !IsTorchFile(job.library())) {
      for (const char* engine : {"eager", kCompileEngine}) {
        named["engine"] = engine;
        RETURN_IF_ERROR(AddJob(job, ids, jobs));
      }
      return absl::OkStatus();
    }
  }
  // Named like any other loader, so that the id is the same either way.
  if (job.scope() == "e2e") named.insert({"loader", kNativeLoader});
  RETURN_IF_ERROR(TrainSettingsOf(job).status());
  if (job.settings().count(kWorldSize) > 0) {
    Job alone = job;
    alone.mutable_settings()->erase(kWorldSize);
    RETURN_IF_ERROR(AddJob(std::move(alone), ids, jobs));
  }
  job.set_job_id(JobId(job));
  if (ids->insert(job.job_id()).second) jobs->push_back(std::move(job));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Job>> WithSettings(
    std::vector<Job> planned,
    const std::map<std::string, std::string>& settings) {
  std::vector<Job> jobs;
  std::set<std::string> ids;
  for (Job& job : planned) {
    for (const auto& [name, value] : settings) {
      (*job.mutable_settings())[name] = value;
    }
    RETURN_IF_ERROR(AddJob(std::move(job), &ids, &jobs));
  }
  return jobs;
}

int DeviceCount(const std::string& device) {
  const MachineInfo machine = ReadMachine(ThisMachine());
  const int count = device == "cuda" ? static_cast<int>(machine.gpu.gpus.size())
                                     : machine.cpu.usable_cores;
  return std::max(1, count);
}

absl::StatusOr<std::vector<Job>> ReadTrainJobs(const std::string& path) {
  ASSIGN_OR_RETURN(std::vector<Job> jobs, ReadJobFile(path));
  for (const Job& job : jobs) {
    if (job.mode() != "train") {
      return absl::InvalidArgumentError(
          absl::StrCat("job ", job.job_id(), " is of mode ", job.mode(),
                       ", which another program runs; `plan` names it"));
    }
    RETURN_IF_ERROR(TrainSettingsOf(job).status());
  }
  if (jobs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has no job in it; name a --model instead"));
  }
  return jobs;
}

namespace {

// The source's settings with the actual number of processes. An axis of --sweep
// wins over the flag of its setting.
absl::StatusOr<std::map<std::string, std::string>> SettingsOf(
    const TrainSource& source, const absl::optional<SlurmStep>& step) {
  std::map<std::string, std::string> settings = source.settings;
  const auto world_size = settings.find(kWorldSize);
  if (world_size == settings.end() && step.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("srun started ", step->world_size,
                     " tasks; say --world-size=-1 for them to train together"));
  }
  if (world_size != settings.end() && world_size->second == "-1") {
    world_size->second = absl::StrCat(
        step.has_value()
            ? step->world_size
            : DeviceCount(source.overrides.ValueOr("device", "cpu")));
  }
  const auto axes = ParseSweep(source.overrides.ValueOr("sweep", ""));
  // Planning says what is wrong with them.
  if (!axes.ok()) return settings;
  for (const SweepAxis& axis : *axes) settings.erase(axis.name());
  return settings;
}

// Folders by short name, in the order of the flag.
using Folders = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Folders> FoldersOf(const Overrides& overrides) {
  Folders folders;
  std::map<std::string, std::string> seen;
  const std::string value = overrides.ValueOr("dataset", "");
  std::vector<std::string> paths = {value};
  if (!absl::StartsWith(value, "synthetic:")) {
    paths = absl::StrSplit(value, ',', absl::SkipEmpty());
  }
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string id, DatasetId(path));
    if (!seen.emplace(id, path).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dataset: ", seen[id], " and ", path,
                       " are both called \"", id, "\"; rename one"));
    }
    folders.emplace_back(id, path);
  }
  return folders;
}

// Refuses flags that a training has no use for. A config may have the scope.
absl::Status CheckOverrides(const TrainSource& source) {
  std::vector<std::string> useless = {
      "num_items",     "transforms",     "transform_set", "min_time",
      "thread_policy", "params_profile", "env_set"};
  const std::string scope = source.overrides.ValueOr("scope", "synthetic");
  if (source.config.empty() && scope == "synthetic") {
    useless.insert(useless.end(), {"workers", "sample_ratio"});
  }
  for (const std::string& flag : useless) {
    if (!source.overrides.Has(flag)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, ": a training",
        flag == "workers" || flag == "sample_ratio" ? " of scope synthetic"
                                                    : "",
        " has no such setting; leave it out"));
  }
  return absl::OkStatus();
}

// Jobs that are already planned: flags may only say where their data is.
absl::StatusOr<TrainJobs> ReadPlannedJobs(const TrainSource& source,
                                          const Folders& folders) {
  RETURN_IF_ERROR(CheckNothingIsLate(source.overrides));
  if (!source.settings.empty()) {
    return TooLate(FindTrainSetting(source.settings.begin()->first)->flag);
  }
  TrainJobs result;
  JobList& list = result.list;
  ASSIGN_OR_RETURN(list.jobs, ReadTrainJobs(source.jobs));
  RETURN_IF_ERROR(CheckSubjectsNamed(list.jobs, source.overrides));
  std::set<std::string> ids;
  for (const Job& job : list.jobs) ids.insert(job.dataset());
  for (const auto& folder : folders) {
    if (ids.count(folder.first) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--dataset: no job of ", source.jobs, " is for \"", folder.first,
        "\"; the first is for \"", list.jobs[0].dataset(), "\""));
  }
  result.folders.insert(folders.begin(), folders.end());
  RETURN_IF_ERROR(ReadConfigs(source.overrides, &list));
  if (folders.empty()) {
    result.folders[list.config.data().id()] = std::move(list.dataset);
  }
  list.dataset.clear();
  return result;
}

// The jobs of every data set, those of one point of the sweep side by side.
absl::StatusOr<TrainJobs> PlanDatasets(const TrainSource& source,
                                       const Folders& folders) {
  ASSIGN_OR_RETURN(const std::string configs,
                   FindConfigsFolder(source.configs_folder, source.config));
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load(configs));
  JobSource planned;
  planned.tool = "train";
  planned.config = source.config.empty() ? JoinPath(configs, "train.textproto")
                                         : source.config;
  planned.overrides = source.overrides;
  TrainJobs result;
  std::vector<std::vector<Job>> jobs;
  for (size_t i = 0; i < std::max<size_t>(1, folders.size()); ++i) {
    if (!folders.empty()) {
      planned.overrides.Set("dataset", folders[i].second);
    }
    ASSIGN_OR_RETURN(result.list, LoadJobList(planned, catalogue));
    JobList& list = result.list;
    result.folders[list.config.data().id()] = std::move(list.dataset);
    list.dataset.clear();
    jobs.push_back(std::move(list.jobs));
  }
  result.list.jobs.clear();
  for (size_t i = 0; i < jobs[0].size(); ++i) {
    for (const std::vector<Job>& of_dataset : jobs) {
      result.list.jobs.push_back(of_dataset[i]);
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<TrainJobs> LoadTrainJobs(const TrainSource& source,
                                        const absl::optional<SlurmStep>& step) {
  if (!source.config.empty() && !source.jobs.empty()) {
    return absl::InvalidArgumentError(
        "--config plans jobs and --jobs has them; leave one out");
  }
  ASSIGN_OR_RETURN(const Folders folders, FoldersOf(source.overrides));
  if (!source.jobs.empty()) return ReadPlannedJobs(source, folders);
  RETURN_IF_ERROR(CheckOverrides(source));
  ASSIGN_OR_RETURN(const auto settings, SettingsOf(source, step));
  ASSIGN_OR_RETURN(TrainJobs result, PlanDatasets(source, folders));
  ASSIGN_OR_RETURN(result.list.jobs,
                   WithSettings(std::move(result.list.jobs), settings));
  return result;
}

}  // namespace feedrate
