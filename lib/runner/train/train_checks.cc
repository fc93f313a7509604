#include "lib/runner/train/train_checks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/loader/source/data_folder.h"
#include "lib/machine/gpu.h"
#include "lib/model/flops.h"
#include "lib/model/safetensors.h"
#include "lib/model/worker/image_files.h"
#include "lib/planning/subjects.h"
#include "lib/records/attempts.h"
#include "lib/runner/data/remote_data.h"
#include "lib/runner/train/train_processes.h"

namespace feedrate {
namespace {

// Whether the loader reads shards and objects.
bool Streams(const std::string& loader) {
  return loader == kNativeLoader || loader == kGpuLoader;
}

absl::Status CheckTorchFile(const std::string& file) {
  if (absl::EndsWith(file, ".pt2")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--subject: ", file,
        ": torch.export keeps no backward pass that "
        "C++ could run; name its model as MODULE:NAME, or save it with "
        "torch.jit.save"));
  }
  return IsFile(file) ? absl::OkStatus()
                      : absl::InvalidArgumentError(absl::StrCat(
                            "--subject: ", file,
                            ": no such file; write one with "
                            "torch.jit.save(torch.jit.script(model), FILE)"));
}

// Whether a file can be created under the name that a flag gives.
absl::Status CheckWritable(const std::string& flag, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const absl::Status status = IsFolder(path)
                                  ? absl::InvalidArgumentError(absl::StrCat(
                                        path, ": is a folder; name a file"))
                                  : NewFile::Create(path).status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", status.message()));
}

}  // namespace

absl::Status TrainChecks::Check(const Catalogue& catalogue, const Job& job,
                                const TrainSettings& settings) {
  WorkerPlaces places = PlacesOfThisProgram(catalogue.configs_dir());
  places.python = python_;
  RETURN_IF_ERROR(CheckSubject(catalogue, job));
  RETURN_IF_ERROR(CheckWeightFiles(job, settings));
  RETURN_IF_ERROR(FindPrograms(places, job, settings.loader));
  RETURN_IF_ERROR(CheckDevice(job));
  RETURN_IF_ERROR(FindRecipe(catalogue, settings));
  if (options_.cold && settings.loader.empty()) {
    return absl::InvalidArgumentError(
        "--cold: scope synthetic reads no files; add --scope=e2e, or leave "
        "it out");
  }
  RETURN_IF_ERROR(CheckResume(job, settings));
  RETURN_IF_ERROR(CheckClasses(job, settings));
  return CheckValidation(job, settings);
}

absl::Status TrainChecks::FindPrograms(const WorkerPlaces& places,
                                       const Job& job,
                                       const std::string& loader) {
  if (commands_.count(job.library()) == 0) {
    ASSIGN_OR_RETURN(commands_[job.library()],
                     TrainWorker(places, job.library()));
  }
  if (loader.empty()) return absl::OkStatus();
  const auto folder = folders_.find(job.dataset());
  if (folder == folders_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dataset: the folder of \"", job.dataset(),
                     "\" is not named; scope e2e reads images from it"));
  }
  RETURN_IF_ERROR(CheckData(folder->second, loader));
  if (Streams(loader) || loader == kMixtureLoader ||
      feeders_.count(loader) > 0) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(feeders_[loader], FeederWorker(places, loader));
  return absl::OkStatus();
}

absl::Status TrainChecks::FindRecipe(const Catalogue& catalogue,
                                     const TrainSettings& settings) {
  if (settings.augment != kThreeAugment) return absl::OkStatus();
  const std::string library =
      settings.loader == kGpuDali ? kDali : settings.loader;
  const Scenario* const scenario = catalogue.FindScenario("image-rgb");
  if (scenario == nullptr) {
    return absl::NotFoundError("--augment: the matrix has no image-rgb");
  }
  ASSIGN_OR_RETURN(const TransformSet* const set,
                   catalogue.Transforms(*scenario));
  for (const Transform& transform : set->transforms()) {
    if (transform.name() != "ThreeAugment") continue;
    const Implementation* const found =
        FindImplementation(transform, library, "paper");
    if (found == nullptr) break;
    std::vector<std::string>& words =
        recipes_[{settings.augment, settings.loader}];
    words.clear();
    for (const std::string& step : found->params()) {
      words.push_back(absl::StrCat("recipe.", step));
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--augment: ", library, " has no ThreeAugment; use another --loader"));
}

absl::Status TrainChecks::CheckData(const std::string& place,
                                    const std::string& loader) {
  const bool is_remote = IsRemoteDataset(place);
  const bool is_shards =
      !is_remote && loader != kMixtureLoader && IsShards(place);
  if (!Streams(loader) && (is_remote || is_shards)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--loader=", loader, ": reads a folder of files, and ",
        WithoutQueries(place), is_remote ? " is a store" : " is tar shards",
        "; copy it with stage_dataset, or use --loader=native"));
  }
  if (is_remote) return CheckStore(place);
  if (IsFolder(place) || is_shards || absl::StrContains(place, '{')) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("--dataset: ", place,
                   ": no such folder; scope e2e reads images from it"));
}

absl::Status TrainChecks::CheckStore(const std::string& url) {
  if (options_.cold) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cold: drops local files from memory, and ",
                     WithoutQueries(url), " is a store; leave it out"));
  }
  if (stores_.count(url) > 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<RemoteData> store,
                   options_.run.open_remote(url, [](const std::string&) {}));
  RETURN_IF_ERROR(store->Objects(ItemNameEndings(), /*num_items=*/0).status());
  stores_[url] = store->Fields();
  return absl::OkStatus();
}

absl::Status TrainChecks::CheckSubject(const Catalogue& catalogue,
                                       const Job& job) const {
  if (!IsSubject(job.library()) || commands_.count(job.library()) > 0) {
    return absl::OkStatus();
  }
  if (IsTorchFile(job.library())) return CheckTorchFile(job.library());
  // Planning has asked it.
  if (options_.source.jobs.empty()) return absl::OkStatus();
  Selection selection;
  selection.set_mode(job.mode());
  selection.set_python(python_);
  const absl::Status found =
      DescribeWithPython(catalogue)(selection, job.library()).status();
  return found.ok() ? found
                    : absl::InvalidArgumentError(
                          absl::StrCat("--subject: ", found.message()));
}

absl::Status TrainChecks::CheckDevice(const Job& job) const {
  if (job.device() != "cuda") return absl::OkStatus();
  const GpuSystem gpu = ReadGpus(NvmlLibraries());
  const int last = static_cast<int>(gpu.gpus.size()) - 1;
  if (!gpu.gpus.empty() && options_.device_index > last) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device=cuda:", options_.device_index,
                     ": this machine has GPUs 0 to ", last));
  }
  if (!gpu.gpus.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--device=cuda: this machine has no GPU",
      gpu.problem.empty() ? "" : absl::StrCat(" (", gpu.problem, ")"),
      "; use --device=cpu"));
}

absl::Status TrainChecks::CheckWeightFiles(
    const Job& job, const TrainSettings& settings) const {
  const std::string& file = options_.import_weights;
  const bool exports =
      !options_.export_weights.empty() || !options_.export_ema.empty();
  if ((exports || !file.empty()) && job.library() != kTrainLibrary) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--export and --import: only library feedrate has them; leave them "
        "out for ",
        job.library()));
  }
  if (!options_.export_ema.empty() && job.settings().count("ema_decay") == 0) {
    return absl::InvalidArgumentError(
        "--export_ema: there are no averages of weights; add --ema_decay");
  }
  if (file.empty()) return absl::OkStatus();
  if (!options_.resume_from.empty()) {
    return absl::InvalidArgumentError(
        "--import: --resume_from has the weights; leave one out");
  }
  const auto bytes = PlainFileBytes(file);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--import: ", bytes.status().message()));
  }
  std::ifstream in(file, std::ios::binary);
  SafetensorsHeader header;
  std::string wrong = ReadSafetensorsHeader(in, *bytes, &header);
  if (wrong.empty()) wrong = CheckWeights(header, settings.model);
  return wrong.empty() ? absl::OkStatus()
                       : absl::InvalidArgumentError(
                             absl::StrCat("--import: ", file, ": ", wrong));
}

absl::Status TrainChecks::CheckResume(const Job& job,
                                      const TrainSettings& settings) {
  if (options_.resume_from.empty()) return absl::OkStatus();
  const auto meta = CheckpointMeta(
      options_.resume_from,
      [this](const std::string& text) { warnings_.insert(text); });
  if (!meta.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--resume_from: ", meta.status().message()));
  }
  const std::string& model = meta->at("model");
  if (ModelNamed(model) == nullptr && model != settings.model.name) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--resume_from: ", options_.resume_from, ": is of model \"",
        model.substr(0, 60), "\", which is none of ours"));
  }
  if (model != settings.model.name) {
    return absl::InvalidArgumentError(
        absl::StrCat("--resume_from: ", options_.resume_from, ": is of model ",
                     model, "; train it with --model=", model));
  }
  const bool has_averages = meta->count("ema") > 0;
  if (has_averages == (job.settings().count("ema_decay") > 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--resume_from: ", options_.resume_from,
      has_averages ? ": has averages of weights; add its --ema_decay"
                   : ": has no averages of weights; leave --ema_decay out"));
}

absl::Status TrainChecks::CheckClasses(const Job& job,
                                       const TrainSettings& settings) {
  if (settings.loader.empty() || settings.loader == kMixtureLoader) {
    return absl::OkStatus();
  }
  ImageFolder folder;
  folder.path = folders_.at(job.dataset());
  folder.classes = settings.model.classes;
  if (!IsFolder(folder.path) || IsShards(folder.path)) return absl::OkStatus();
  const absl::StatusOr<ImageList> list = ListImages(folder);
  if (!list.ok()) {
    return absl::Status(list.status().code(),
                        absl::StrCat("--dataset: ", list.status().message()));
  }
  const std::string ignored = list->left_out.Text();
  if (!ignored.empty()) {
    warnings_.insert(absl::StrCat(folder.path, ": ", ignored));
  }
  if (list->classes.empty() && !list->files.empty()) {
    warnings_.insert(absl::StrCat(
        folder.path,
        ": has no folders of classes; its images get classes in turn"));
  }
  classes_[folder.path] = list->classes;
  return absl::OkStatus();
}

absl::Status TrainChecks::CheckValidation(const Job& job,
                                          const TrainSettings& settings) const {
  if (options_.validate_every == 0) return absl::OkStatus();
  if (settings.loader.empty() || settings.loader == kMixtureLoader) {
    return absl::InvalidArgumentError(
        "--validate_every: the model must be trained on labeled images; add "
        "--scope=e2e and --dataset, or leave it out");
  }
  // The training lists stores and shards, and finds their classes.
  std::vector<std::string> classes;
  const auto listed = classes_.find(folders_.at(job.dataset()));
  if (listed != classes_.end()) {
    classes = listed->second;
    if (classes.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--validate_every: ", listed->first,
                       ": has no classes; it needs a subfolder per class"));
    }
  }
  ImageFolder folder;
  folder.classes = settings.model.classes;
  folder.path = options_.validation_dataset;
  const absl::Status status = ListLabeledImages(folder, classes).status();
  return absl::Status(status.code(),
                      absl::StrCat("--validation_dataset: ", status.message()));
}

absl::Status CheckTrainOptions(const TrainRunOptions& options) {
  RETURN_IF_ERROR(CheckWritable("--checkpoint", options.checkpoint));
  RETURN_IF_ERROR(CheckWritable("--metrics", options.metrics));
  RETURN_IF_ERROR(CheckWritable("--export", options.export_weights));
  RETURN_IF_ERROR(CheckWritable("--export_ema", options.export_ema));
  const TrainProfile& profile = options.profile;
  if (!profile.form.empty()) {
    RETURN_IF_ERROR(CheckChoice("--profile", profile.form, {"trace", "tb"}));
  }
  if (!profile.form.empty()) {
    // After the training it would be too late.
    const std::string folder =
        profile.form == "tb" ? profile.output : ParentFolder(profile.output);
    std::error_code error;
    std::filesystem::create_directories(folder.empty() ? "." : folder, error);
    if (error) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--profile_output: ", folder, ": cannot be made: ", error.message()));
    }
  }
  if (options.device_index < 0) {
    return absl::InvalidArgumentError(
        "--device: name a GPU by its number from 0, such as cuda:1");
  }
  if (profile.wait < 0 || profile.warmup < 0 || profile.active < 1 ||
      profile.repeat < 1) {
    return absl::InvalidArgumentError(
        "--profile_active and --profile_repeat must be at least 1, "
        "--profile_wait and --profile_warmup at least 0");
  }
  const RunLimits& limits = options.run.limits;
  if (limits.retries < 0 || !(limits.hang_s > 0) || options.peak_tflops < 0 ||
      options.checkpoint_every < 0 || options.validate_every < 0) {
    return absl::InvalidArgumentError(
        "--retries, --peak_tflops, --checkpoint_every and --validate_every "
        "must "
        "be at least 0, --timeout above 0");
  }
  if ((options.validate_every > 0) == options.validation_dataset.empty()) {
    return absl::InvalidArgumentError(
        "--validate_every says when and --validation_dataset on which images; "
        "use both or neither");
  }
  for (const std::string& status : options.run.fail_on) {
    RETURN_IF_ERROR(CheckChoice("--fail_on", status, RowStatuses()));
  }
  return absl::OkStatus();
}

absl::Status CheckCheckpoints(const TrainRunOptions& options,
                              const std::vector<Job>& jobs,
                              int* most_processes) {
  std::map<int, int> trainings;
  for (const Job& job : jobs) {
    ASSIGN_OR_RETURN(const TrainSettings settings, TrainSettingsOf(job));
    trainings[settings.world_size] += std::max(1, job.run_indexes_size());
  }
  if (trainings.empty()) return absl::OkStatus();
  *most_processes = trainings.rbegin()->first;
  if (options.resume_from.empty() || options.checkpoint.empty() ||
      trainings.rbegin()->second == 1) {
    return absl::OkStatus();
  }
  std::error_code error;
  if (options.resume_from != options.checkpoint &&
      !std::filesystem::equivalent(options.resume_from, options.checkpoint,
                                   error)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--checkpoint: ", options.checkpoint, " is what all ",
                   trainings.rbegin()->second,
                   " trainings continue from; name another file"));
}

}  // namespace feedrate
