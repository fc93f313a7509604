#include "lib/runner/train/train_jobs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/machine/machine.h"
#include "lib/records/job_identity.h"

namespace feedrate {
namespace {

// Parses the value of a setting, or says what is wrong with it.
using Reader =
    std::function<absl::Status(const std::string& name, const std::string&)>;

// The flag of a setting.
std::string FlagOf(const std::string& setting) {
  if (setting == "warmup") return "warmup_steps";
  if (setting == "steps") return "measured_steps";
  return setting;
}

// An engine of subjects.
constexpr char kCompileEngine[] = "compile";
constexpr char kBf16Library[] = "torch_compile_bf16";
constexpr int64_t kLargest = int64_t{1} << 30;
// More are a mistake on any machine.
constexpr int64_t kMostWorkers = 1024;

absl::Status CheckWhole(const std::string& name, const std::string& value,
                        int64_t low, int64_t high, int64_t* number) {
  if (absl::SimpleAtoi(value, number) && *number >= low && *number <= high) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", FlagOf(name), ": \"", value,
                   "\" is no whole number from ", low, " to ", high));
}

template <typename T>
Reader Whole(int64_t low, T* field) {
  return [low, field](const std::string& name, const std::string& value) {
    int64_t number = 0;
    RETURN_IF_ERROR(CheckWhole(name, value, low, kLargest, &number));
    *field = static_cast<T>(number);
    return absl::OkStatus();
  };
}

// Like Whole, with the other choice of the flag.
template <typename T>
Reader WorldSize(T* field) {
  return [field](const std::string& name, const std::string& value) {
    const absl::Status status = Whole(1, field)(name, value);
    if (status.ok()) return status;
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), " and not -1"));
  };
}

Reader OneOf(std::vector<std::string> choices, std::string* field) {
  return [choices, field](const std::string& name, const std::string& value) {
    RETURN_IF_ERROR(CheckChoice(absl::StrCat("--", name), value, choices));
    *field = value;
    return absl::OkStatus();
  };
}

Reader Truth(bool* field) {
  return [field](const std::string& name, const std::string& value) {
    RETURN_IF_ERROR(CheckChoice(absl::StrCat("--", name), value, {"0", "1"}));
    *field = value == "1";
    return absl::OkStatus();
  };
}

// At most `high`, and above 0, or 0 if `may_be_zero`.
Reader Number(double high, bool may_be_zero, double* field) {
  return [=](const std::string& name, const std::string& value) {
    if (absl::SimpleAtod(value, field) && *field <= high &&
        (*field > 0 || (may_be_zero && *field == 0))) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, ": \"", value, "\" is not ",
                     may_be_zero ? "0 or " : "", "above 0 and at most ", high));
  };
}

std::map<std::string, Reader> Readers(TrainSettings* s) {
  static std::string ignored_text;
  static int64_t ignored_number;
  static double ignored_double;
  return {
      {"model",
       [s](const std::string&, const std::string& value) {
         RETURN_IF_ERROR(CheckChoice("--model", value, ModelNames()));
         s->model = *ModelNamed(value);
         return absl::OkStatus();
       }},
      {"precision", OneOf({"fp32", "tf32", "bf16", "fp16"}, &s->precision)},
      {"optimizer", OneOf({"adamw", "lamb"}, &s->optimizer)},
      {"mixing", OneOf({"mixup", "cutmix", "both"}, &ignored_text)},
      {"learning_rate", Number(100, false, &ignored_double)},
      {"weight_decay", Number(100, true, &s->weight_decay)},
      {"clip_norm", Number(1e9, true, &s->clip_norm)},
      {"prefetch", Whole(1, &ignored_number)},
      {"augment", OneOf({"flip", kThreeAugment}, &s->augment)},
      {"loader", OneOf({kNativeLoader, kGpuLoader, kMixtureLoader,
                        "torchvision", "dali", kGpuDali},
                       &s->loader)},
      // Checked by the loader of mixtures.
      {"mixture",
       [](const std::string&, const std::string&) { return absl::OkStatus(); }},
      {"sample_ratio", Number(1, false, &ignored_double)},
      {"accumulation", Whole(1, &s->accumulation)},
      {"warmup", Whole(0, &s->warmup)},
      {"steps", Whole(1, &s->steps)},
      {"epochs", Whole(1, &ignored_number)},
      {"samples", Whole(1, &ignored_number)},
      {"threads", Whole(1, &ignored_number)},
      {"bucket_bytes", Whole(1, &ignored_number)},
      {"world_size", WorldSize(&s->world_size)},
      {"optimizer_in_step", Truth(&s->optimizer_in_step)},
      {"graphs", Truth(&s->graphs)},
      {"engine", OneOf({"fused", "eager", kCompileEngine}, &s->engine)},
      {"activation_checkpointing", Truth(&s->activation_checkpointing)},
      {"deterministic", Truth(&s->deterministic)},
  };
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
        "--graphs has the optimiser inside; leave --no-optimizer-in-step out");
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
  if (s.deterministic && job.library() != kTrainLibrary) {
    return absl::InvalidArgumentError(
        absl::StrCat("--deterministic: only library feedrate has it; leave it "
                     "out for ",
                     job.library()));
  }
  if (s.engine == "fused" &&
      (job.device() != "cuda" || s.precision != "bf16")) {
    return absl::InvalidArgumentError(
        "--engine=fused needs --device=cuda and --precision=bf16");
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
        s.loader == kGpuDali ? "dali" : kNativeLoader));
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
  RETURN_IF_ERROR(CheckMixture(job, s));
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

std::vector<std::string> TrainSettingNames() {
  TrainSettings unused;
  std::vector<std::string> names;
  for (const auto& reader : Readers(&unused)) names.push_back(reader.first);
  return names;
}

absl::StatusOr<TrainSettings> TrainSettingsOf(const Job& job) {
  if (!IsSubject(job.library())) {
    RETURN_IF_ERROR(
        CheckChoice("--libraries", job.library(), TrainLibraries()));
  }
  RETURN_IF_ERROR(CheckChoice("--scope", job.scope(), {"synthetic", "e2e"}));
  RETURN_IF_ERROR(CheckChoice("--device", job.device(), {"cpu", "cuda"}));
  int64_t number = 0;
  RETURN_IF_ERROR(CheckWhole("batch_size", absl::StrCat(job.batch_size()), 1,
                             kLargest, &number));
  RETURN_IF_ERROR(CheckWhole("workers", absl::StrCat(job.workers()), 0,
                             kMostWorkers, &number));
  TrainSettings settings;
  if (job.scope() == "e2e") settings.loader = kNativeLoader;
  settings.model = *ModelNamed("vit5_tiny");
  const std::map<std::string, Reader> readers = Readers(&settings);
  settings.words = {absl::StrCat("batch_size=", job.batch_size()),
                    absl::StrCat("device=", job.device()),
                    absl::StrCat("seed=", job.seed())};
  std::map<std::string, std::string> sorted(job.settings().begin(),
                                            job.settings().end());
  for (const auto& setting : sorted) {
    const auto reader = readers.find(setting.first);
    if (reader == readers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("setting \"", setting.first, "\" is unknown",
                       DidYouMean(setting.first, TrainSettingNames())));
    }
    RETURN_IF_ERROR(reader->second(setting.first, setting.second));
    // Of several processes, and of the loader: its steps follow.
    if (setting.first == "world_size" || setting.first == "augment") continue;
    settings.words.push_back(absl::StrCat(setting.first, "=", setting.second));
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

// Values of settings that a job does not name. They are left out of jobs, so
// that a job has the same id whether or not its caller typed the default. Model
// and precision are always named, because reports group by them.
const std::map<std::string, std::string>& Defaults() {
  static const auto* const defaults =
      new std::map<std::string, std::string>{{"accumulation", "1"},
                                             {"activation_checkpointing", "0"},
                                             {"deterministic", "0"},
                                             {"augment", "flip"},
                                             {"clip_norm", "0"},
                                             {"engine", ""},
                                             {"graphs", "0"},
                                             {"learning_rate", "0.001"},
                                             {"loader", ""},
                                             {"mixing", ""},
                                             {"mixture", ""},
                                             {"optimizer", "adamw"},
                                             {"optimizer_in_step", "1"},
                                             {"prefetch", "0"},
                                             {"steps", "100"},
                                             {"warmup", "200"},
                                             {"weight_decay", "0.05"},
                                             {"sample_ratio", "1"},
                                             {"world_size", "1"}};
  return *defaults;
}

absl::Status SetAxis(const std::string& name, const std::string& value,
                     Job* job) {
  if (name == "device") {
    job->set_device(value);
  } else if (name == "batch_size" || name == "seed" || name == "workers") {
    int64_t number = 0;
    RETURN_IF_ERROR(CheckWhole(name, value, name == "seed" ? -kLargest : 0,
                               kLargest, &number));
    if (name == "seed") job->set_seed(number);
    if (name == "batch_size") job->set_batch_size(number);
    if (name == "workers") job->set_workers(number);
  } else {
    (*job->mutable_settings())[name] = value;
  }
  return absl::OkStatus();
}

// Every point of the sweep, the last axis fastest.
absl::StatusOr<std::vector<Job>> Points(const Job& base,
                                        const std::string& sweep) {
  std::vector<Job> points = {base};
  if (sweep.empty()) return points;
  const absl::StatusOr<std::vector<SweepAxis>> axes = ParseSweep(sweep);
  if (!axes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep: ", axes.status().message()));
  }
  for (const SweepAxis& axis : *axes) {
    std::vector<Job> more;
    for (const Job& point : points) {
      for (const std::string& value : axis.values()) {
        more.push_back(point);
        RETURN_IF_ERROR(SetAxis(axis.name(), value, &more.back()));
      }
    }
    points = std::move(more);
  }
  return points;
}

void DropDefaults(Job* job) {
  for (const auto& entry : Defaults()) {
    const auto found = job->settings().find(entry.first);
    if (found != job->settings().end() && found->second == entry.second) {
      job->mutable_settings()->erase(entry.first);
    }
  }
}

// Checks a job, gives it an id, and appends it if it is new. A job with several
// processes comes after the same job with one.
absl::Status AddJob(Job job, std::set<std::string>* ids,
                    std::vector<Job>* jobs) {
  DropDefaults(&job);
  auto& named = *job.mutable_settings();
  if (named.count("precision") > 0 && named["precision"].empty()) {
    named["precision"] = DefaultPrecision(job);
  }
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
  if (job.settings().count("world_size") > 0) {
    Job alone = job;
    alone.mutable_settings()->erase("world_size");
    RETURN_IF_ERROR(AddJob(std::move(alone), ids, jobs));
  }
  job.set_job_id(JobId(job));
  if (ids->insert(job.job_id()).second) jobs->push_back(std::move(job));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Job>> MakeTrainJobs(const TrainRequest& request) {
  Job base;
  base.set_scenario("train");
  base.set_mode("train");
  base.set_scope(request.scope);
  base.set_device(request.device);
  base.set_batch_size(request.batch_size);
  base.set_workers(request.workers);
  base.set_thread_policy("default");
  base.set_seed(request.seed);
  base.set_hardware_class(request.device == "cuda" ? "gpu" : "cpu");
  base.set_output("train.jsonl");
  for (int i = 0; i < request.num_runs; ++i) base.add_run_indexes(i);
  base.mutable_settings()->insert(request.settings.begin(),
                                  request.settings.end());
  ASSIGN_OR_RETURN(const std::vector<Job> points, Points(base, request.sweep));
  std::vector<std::string> datasets = request.datasets;
  if (datasets.empty()) datasets = {kSyntheticDataset};
  std::vector<Job> jobs;
  std::set<std::string> ids;
  for (const Job& point : points) {
    for (const std::string& dataset : datasets) {
      for (const std::string& library : request.libraries) {
        Job job = point;
        job.set_dataset(dataset);
        job.set_library(library);
        RETURN_IF_ERROR(AddJob(job, &ids, &jobs));
      }
    }
  }
  return jobs;
}

absl::StatusOr<std::vector<Job>> WithSettings(
    const std::vector<Job>& jobs,
    const std::map<std::string, std::string>& settings) {
  std::vector<Job> result;
  std::set<std::string> ids;
  for (Job job : jobs) {
    for (const auto& setting : settings) {
      (*job.mutable_settings())[setting.first] = setting.second;
    }
    RETURN_IF_ERROR(AddJob(job, &ids, &result));
  }
  return result;
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

absl::StatusOr<JobList> PlanTrainJobs(
    const std::string& config, const Overrides& overrides,
    const std::map<std::string, std::string>& settings,
    const std::string& configs_folder) {
  ASSIGN_OR_RETURN(const std::string folder,
                   FindConfigsFolder(configs_folder, config));
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load(folder));
  JobSource source;
  source.tool = "train";
  source.config = config;
  source.overrides = overrides;
  ASSIGN_OR_RETURN(JobList list, LoadJobList(source, catalogue));
  std::map<std::string, std::string> all = settings;
  // A field of the data in configs, but a setting of a training.
  if (list.config.data().sample_ratio() != 1) {
    all.emplace("sample_ratio",
                absl::StrCat(list.config.data().sample_ratio()));
  }
  ASSIGN_OR_RETURN(list.jobs, WithSettings(list.jobs, all));
  return list;
}

namespace {

// The source's settings with the actual number of processes.
absl::StatusOr<std::map<std::string, std::string>> SettingsOf(
    const TrainSource& source, const absl::optional<SlurmStep>& step) {
  std::map<std::string, std::string> settings = source.settings;
  std::string& world_size = settings["world_size"];
  if (world_size == "-1") {
    world_size = absl::StrCat(
        step.has_value()
            ? step->world_size
            : DeviceCount(source.overrides.device.value_or("cpu")));
  } else if (step.has_value() && source.given.count("world_size") == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("srun started ", step->world_size,
                     " tasks; say --world-size=-1 for them to train together"));
  }
  return settings;
}

// Folders by short name, in the order of the flag.
using Folders = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Folders> FoldersOf(const Overrides& overrides) {
  Folders folders;
  std::map<std::string, std::string> seen;
  const std::vector<std::string> paths =
      absl::StrSplit(overrides.dataset.value_or(""), ',', absl::SkipEmpty());
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

// The first flag that a training has no use for, or empty. With a config,
// `plan` says so.
std::string UselessOverride(const Overrides& o) {
  if (o.num_items.has_value()) return "num_items";
  if (o.transforms.has_value()) return "transforms";
  if (o.transform_set.has_value()) return "transform_set";
  if (o.min_time.has_value()) return "min_time";
  if (o.thread_policy.has_value()) return "thread_policy";
  if (o.params_profile.has_value()) return "params_profile";
  if (o.env_set.has_value()) return "env_set";
  if (o.scope.value_or("synthetic") == "e2e") return "";
  if (o.workers.has_value()) return "workers";
  if (o.sample_ratio.has_value()) return "sample_ratio";
  return "";
}

absl::StatusOr<TrainRequest> RequestOf(const Overrides& overrides,
                                       const Folders& folders) {
  const std::string useless = UselessOverride(overrides);
  if (!useless.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", useless, ": a training of scope ",
                     overrides.scope.value_or("synthetic"),
                     " has no such setting; leave it out"));
  }
  TrainRequest request;
  const std::vector<std::string> subjects =
      overrides.subjects.value_or(std::vector<std::string>());
  request.libraries = overrides.libraries.value_or(
      subjects.empty() ? std::vector<std::string>{kTrainLibrary}
                       : std::vector<std::string>());
  request.libraries.insert(request.libraries.end(), subjects.begin(),
                           subjects.end());
  request.scope = overrides.scope.value_or(request.scope);
  request.device = overrides.device.value_or(request.device);
  if (request.device == "none") request.device = "cpu";
  request.batch_size = overrides.batch_size.value_or(request.batch_size);
  request.workers = overrides.workers.value_or(request.workers);
  for (const auto& folder : folders) request.datasets.push_back(folder.first);
  request.seed = overrides.seed.value_or(request.seed);
  request.num_runs = overrides.num_runs.value_or(request.num_runs);
  request.sweep = overrides.sweep.value_or("");
  if (request.num_runs < 1) {
    return absl::InvalidArgumentError("--num_runs must be at least 1");
  }
  return request;
}

// Jobs that are already planned: flags may only say where their data is.
absl::StatusOr<std::vector<Job>> PlannedJobs(const TrainSource& source,
                                             const Folders& folders) {
  RETURN_IF_ERROR(CheckNothingIsLate(source.overrides));
  if (!source.given.empty()) return TooLate(FlagOf(*source.given.begin()));
  ASSIGN_OR_RETURN(std::vector<Job> jobs, ReadTrainJobs(source.jobs));
  RETURN_IF_ERROR(CheckSubjectsNamed(jobs, source.overrides));
  std::set<std::string> ids;
  for (const Job& job : jobs) ids.insert(job.dataset());
  for (const auto& folder : folders) {
    if (ids.count(folder.first) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--dataset: no job of ", source.jobs, " is for \"", folder.first,
        "\"; the first is for \"", jobs[0].dataset(), "\""));
  }
  return jobs;
}

}  // namespace

absl::StatusOr<TrainJobs> LoadTrainJobs(const TrainSource& source,
                                        const absl::optional<SlurmStep>& step) {
  if (!source.config.empty() && !source.jobs.empty()) {
    return absl::InvalidArgumentError(
        "--config plans jobs and --jobs has them; leave one out");
  }
  TrainJobs result;
  JobList& list = result.list;
  const Overrides& overrides = source.overrides;
  if (!source.config.empty()) {
    ASSIGN_OR_RETURN(auto settings, SettingsOf(source, step));
    for (auto it = settings.begin(); it != settings.end();) {
      it = source.given.count(it->first) > 0 ? std::next(it)
                                             : settings.erase(it);
    }
    ASSIGN_OR_RETURN(list, PlanTrainJobs(source.config, overrides, settings,
                                         source.configs_folder));
    result.folders[list.config.data().id()] = std::move(list.dataset);
    list.dataset.clear();
    return result;
  }
  ASSIGN_OR_RETURN(const Folders folders, FoldersOf(overrides));
  result.folders.insert(folders.begin(), folders.end());
  list.config.set_label(overrides.label.value_or(""));
  list.config.set_note(overrides.note.value_or(""));
  list.config.mutable_selection()->set_python(overrides.python.value_or(""));
  list.config.mutable_output()->set_path(overrides.output.value_or("-"));
  if (!source.jobs.empty()) {
    ASSIGN_OR_RETURN(list.jobs, PlannedJobs(source, folders));
    RETURN_IF_ERROR(ReadConfigs(overrides, &list));
    if (folders.empty()) {
      result.folders[list.config.data().id()] = std::move(list.dataset);
    }
    list.dataset.clear();
    return result;
  }
  ASSIGN_OR_RETURN(TrainRequest request, RequestOf(overrides, folders));
  ASSIGN_OR_RETURN(request.settings, SettingsOf(source, step));
  request.settings["sample_ratio"] =
      absl::StrCat(overrides.sample_ratio.value_or(1));
  ASSIGN_OR_RETURN(list.jobs, MakeTrainJobs(request));
  return result;
}

}  // namespace feedrate
