#include "lib/runner/loader/loader_job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/hash/sha256.h"
#include "lib/machine/resources.h"
#include "lib/media/image_file.h"
#include "lib/media/synthetic.h"
#include "lib/reference/compare.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/core/workers.h"
#include "lib/runner/data/file_sets.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

template <typename Words>
bool Contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The job's settings. Each read removes one; the rest is for the loader.
class Settings {
 public:
  explicit Settings(const Job& job)
      : rest_(job.settings().begin(), job.settings().end()) {}

  template <typename Number>
  absl::Status TakeInt(const std::string& name, Number least, Number* value) {
    const std::string text = Take(name);
    Number number;
    if (text.empty()) return absl::OkStatus();
    if (!absl::SimpleAtoi(text, &number) || number < least) {
      return Wrong(name, text,
                   absl::StrCat("a whole number from ", least, " on"));
    }
    *value = number;
    return absl::OkStatus();
  }
  absl::Status TakeBool(const std::string& name, bool* value) {
    const std::string text = Take(name);
    if (text.empty() || absl::SimpleAtob(text, value)) return absl::OkStatus();
    return Wrong(name, text, "true or false");
  }
  absl::Status TakeDouble(const std::string& name, double* value) {
    const std::string text = Take(name);
    if (text.empty() || absl::SimpleAtod(text, value)) return absl::OkStatus();
    return Wrong(name, text, "a number");
  }
  const std::map<std::string, std::string>& rest() const { return rest_; }

 private:
  std::string Take(const std::string& name) {
    const auto found = rest_.find(name);
    if (found == rest_.end()) return "";
    std::string text = found->second;
    rest_.erase(found);
    return text;
  }
  static absl::Status Wrong(const std::string& name, const std::string& text,
                            const std::string& wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        "setting ", name, ": \"", text, "\" is not possible; use ", wanted));
  }

  std::map<std::string, std::string> rest_;
};

// The recipe around the transform.
absl::Status SetRecipe(const Catalogue& catalogue, const Job& job,
                       LoaderSpec* spec) {
  const Policy& policy = catalogue.policy();
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  if (scenario == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("scenario \"", job.scenario(), "\" is not in the matrix"));
  }
  spec->set_channels(scenario->channels());
  spec->set_crop(policy.coverage().pipeline_crop());
  spec->set_is_crop(
      Contains(policy.loader().crop_transforms(), job.transform()));
  spec->set_crop_position(job.params_profile() == "matched" ? "center"
                                                            : "random");
  *spec->mutable_mean() = policy.normalize().mean();
  *spec->mutable_std() = policy.normalize().std();
  spec->set_input_scale(policy.normalize().input_scale());
  if (IsTestLibrary(job.library()) || IsSubject(job.library())) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Transform* transform, TransformOfJob(catalogue, job));
  spec->set_batch_transform(transform->batch_transform());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoaderSpec> LoaderSpecOfJob(const Catalogue& catalogue,
                                           const Job& job) {
  const LoaderPolicy& policy = catalogue.policy().loader();
  LoaderSpec spec;
  spec.set_scope(job.scope());
  spec.set_source(job.scope() == kMemoryScope ? "corpus" : "files");
  spec.set_batch_size(job.batch_size());
  spec.set_workers(job.workers());
  spec.set_drop_last(policy.drop_last());
  spec.set_shuffle(policy.shuffle());
  spec.set_on_error("skip");
  RETURN_IF_ERROR(SetRecipe(catalogue, job, &spec));
  Settings settings(job);
  int prefetch = policy.prefetch_factor();
  bool persistent = policy.persistent_workers();
  bool pin_memory = job.device() == "cuda" &&
                    Contains(policy.pin_memory_scopes(), job.scope());
  RETURN_IF_ERROR(settings.TakeInt("prefetch", 1, &prefetch));
  RETURN_IF_ERROR(settings.TakeBool("persistent_workers", &persistent));
  RETURN_IF_ERROR(settings.TakeBool("pin_memory", &pin_memory));
  spec.set_prefetch(prefetch);
  spec.set_persistent(persistent);
  spec.set_pin_memory(pin_memory);
  const std::string container = ContainerOf(job);
  if (!container.empty() &&
      (spec.source() == "corpus" || !Contains(ContainerNames(), container))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "setting ", kContainerSetting, ": \"", container,
        "\" is not possible in scope ", job.scope(), "; use ",
        absl::StrJoin(ContainerNames(), ", "), " in one that decodes"));
  }
  *spec.mutable_settings() = {settings.rest().begin(), settings.rest().end()};
  for (const char* ours :
       {"min_time", "min_batches", "sample_ratio", kContainerSetting}) {
    spec.mutable_settings()->erase(ours);
  }
  return spec;
}

absl::StatusOr<EpochPolicy> EpochPolicyOfJob(const Job& job) {
  EpochPolicy policy;
  Settings settings(job);
  RETURN_IF_ERROR(settings.TakeDouble("min_time", &policy.min_time_s));
  RETURN_IF_ERROR(
      settings.TakeInt<int64_t>("min_batches", 1, &policy.min_batches));
  RETURN_IF_ERROR(settings.TakeDouble("sample_ratio", &policy.sample_ratio));
  if (policy.sample_ratio > 0 && policy.sample_ratio <= 1) return policy;
  return absl::InvalidArgumentError(
      absl::StrCat("setting sample_ratio: ", policy.sample_ratio,
                   " is not possible; use a share above 0 and at most 1"));
}

namespace {

constexpr char kObjects[] = "objects";
constexpr char kHttp[] = "http";
constexpr char kHttpObjects[] = "objects by http";

bool ReadsObjects(const Catalogue& catalogue, const Job& job) {
  const Library* library = catalogue.FindLibrary(job.library());
  return library != nullptr && library->reads_objects();
}

bool WantsShards(const Catalogue& catalogue, const Job& job) {
  const Library* library = catalogue.FindLibrary(job.library());
  return library != nullptr && library->loader_source() == "shards";
}

// How many of `items` are in an epoch.
absl::StatusOr<int64_t> ItemsOfEpoch(const Job& job, int64_t items) {
  ASSIGN_OR_RETURN(const EpochPolicy policy, EpochPolicyOfJob(job));
  const double share = std::ceil(policy.sample_ratio * items);
  return std::clamp<int64_t>(static_cast<int64_t>(share), 1, items);
}

}  // namespace

LoaderInputs::LoaderInputs(const Catalogue& catalogue, std::string dataset,
                           RemoteData* remote,
                           const OpenRemoteData& open_remote,
                           InputCorpora* corpora, FileProgress progress)
    : catalogue_(catalogue),
      dataset_(std::move(dataset)),
      remote_(remote),
      open_remote_(open_remote),
      corpora_(corpora),
      progress_(std::move(progress)) {}

std::string LoaderInputs::KindOf(const Job& job) const {
  const std::string container = ContainerOf(job);
  if (container == kHttp && ReadsObjects(catalogue_, job)) return kHttpObjects;
  if (!container.empty()) return container;
  if (remote_ != nullptr && !NeedsLocalData(catalogue_, job)) return kObjects;
  return WantsShards(catalogue_, job) ? "shards" : "files";
}

absl::StatusOr<FileSet> LoaderInputs::Files(const Job& job,
                                            const std::string& kind) const {
  if (kind == kObjects) {
    return remote_->Objects(ItemEndings(catalogue_, job), job.num_items());
  }
  const std::string dataset = dataset_.empty() ? job.dataset() : dataset_;
  if (IsSynthetic(dataset)) {
    ASSIGN_OR_RETURN(const std::string cache, CacheFolder());
    return WriteSynthetic(dataset, job.num_items(), cache, progress_);
  }
  if (dataset_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), " is for the data set \"",
                     job.dataset(), "\"; say where it is with --dataset=DIR"));
  }
  return ListFolder(dataset, ItemEndings(catalogue_, job), job.num_items());
}

absl::StatusOr<const LoaderInputs::Loaded*> LoaderInputs::Load(const Job& job) {
  const std::string kind = KindOf(job);
  std::unique_ptr<Loaded>& known =
      loaded_[{job.dataset(), job.num_items(), kind}];
  if (known != nullptr) return known.get();
  auto loaded = std::make_unique<Loaded>();
  ASSIGN_OR_RETURN(loaded->files, Files(job, kind));
  if (!loaded->files.left_out.empty()) {
    corpora_->Tell(absl::StrCat(job.dataset(), ": ", loaded->files.left_out));
  }
  loaded->opened = loaded->files;
  loaded->remote = remote_;
  if (ContainerOf(job) == kHttp) {
    RETURN_IF_ERROR(Serve(job, loaded.get()));
  } else if (!ContainerOf(job).empty()) {
    ASSIGN_OR_RETURN(const std::string cache, CacheFolder());
    ASSIGN_OR_RETURN(loaded->opened,
                     WriteContainer(loaded->files, kind, cache, progress_));
  } else if (kind == "shards") {
    ASSIGN_OR_RETURN(const std::string cache, CacheFolder());
    ASSIGN_OR_RETURN(loaded->opened,
                     WriteShards(loaded->files, cache, progress_));
  }
  ASSIGN_OR_RETURN(loaded->list, WriteSourceList(loaded->opened.files));
  loaded->dataset.set_id(job.dataset());
  loaded->dataset.set_files(static_cast<int64_t>(loaded->opened.files.size()));
  int64_t bytes = 0;
  for (const SourceFile& file : loaded->opened.files) {
    // Files of a server are in its page cache.
    if (ContainerOf(job) != kHttp) loaded->paths.push_back(file.path);
    bytes += file.bytes;
  }
  loaded->dataset.set_bytes(bytes);
  // Files are in the page cache unless rows say otherwise.
  if (kind != kObjects) RETURN_IF_ERROR(ReadPages(loaded->paths));
  known = std::move(loaded);
  return known.get();
}

absl::Status LoaderInputs::Serve(const Job& job, Loaded* loaded) {
  ASSIGN_OR_RETURN(const std::string cache, CacheFolder());
  ASSIGN_OR_RETURN(FileSet shards,
                   WriteContainer(loaded->files, "shards", cache, progress_));
  std::vector<std::string> names;
  std::vector<std::string> paths;
  for (const SourceFile& file : shards.files) {
    names.push_back(BaseName(file.path));
    paths.push_back(file.path);
  }
  RETURN_IF_ERROR(ReadPages(paths));
  const std::string folder = ParentFolder(paths[0]);
  std::unique_ptr<TinyServer>& server = servers_[folder];
  if (server == nullptr) {
    server = std::make_unique<TinyServer>(ServeFolder(folder));
  }
  if (!ReadsObjects(catalogue_, job)) {
    for (SourceFile& file : shards.files) {
      file.path = absl::StrCat(server->url(), "/", BaseName(file.path));
    }
    loaded->opened = std::move(shards);
    return absl::OkStatus();
  }
  if (!open_remote_) {
    return absl::InvalidArgumentError("this program opens no stores");
  }
  ASSIGN_OR_RETURN(
      loaded->own_remote,
      open_remote_(
          absl::StrCat(server->url(), "/",
                       names.size() == 1
                           ? names[0]
                           : absl::StrCat("{", absl::StrJoin(names, ","), "}")),
          [](const std::string&) {}));
  loaded->remote = loaded->own_remote.get();
  ASSIGN_OR_RETURN(
      loaded->opened,
      loaded->remote->Objects(ItemEndings(catalogue_, job), job.num_items()));
  return absl::OkStatus();
}

std::string LoaderInputs::FolderOf(
    const std::vector<std::string>& paths) const {
  return dataset_.empty() || IsSynthetic(dataset_) ? ParentFolder(paths[0])
                                                   : dataset_;
}

absl::StatusOr<LoaderInputs::Input> LoaderInputs::GetClips(const Job& job) {
  Input input;
  ASSIGN_OR_RETURN(input.decoded, corpora_->Get(job));
  input.fd = input.decoded.fd;
  input.source = job.scope() == kMemoryScope ? "corpus" : "files";
  input.dataset = input.decoded.dataset;
  ASSIGN_OR_RETURN(input.items, ItemsOfEpoch(job, input.decoded.size));
  if (input.source == "corpus") return input;
  std::vector<std::string>& paths = clip_paths_[input.decoded.files];
  if (paths.empty()) {
    for (const ClipFile& file : *input.decoded.files) {
      paths.push_back(file.path);
    }
  }
  input.paths = &paths;
  input.folder = FolderOf(paths);
  return input;
}

absl::StatusOr<LoaderInputs::Input> LoaderInputs::Get(const Job& job) {
  const Scenario* scenario = catalogue_.FindScenario(job.scenario());
  if (scenario != nullptr && scenario->media() == "clip") return GetClips(job);
  Input input;
  if (job.scope() == kMemoryScope) {
    ASSIGN_OR_RETURN(input.decoded, corpora_->Get(job));
    input.fd = input.decoded.corpus->fd();
    input.source = "corpus";
    input.dataset = input.decoded.dataset;
    ASSIGN_OR_RETURN(input.items,
                     ItemsOfEpoch(job, input.decoded.corpus->size()));
    return input;
  }
  ASSIGN_OR_RETURN(const Loaded* const loaded, Load(job));
  input.fd = loaded->list.get();
  input.source = loaded->opened.source;
  input.dataset = loaded->dataset;
  input.files = &loaded->files;
  if (input.source == kObjects) {
    input.remote = loaded->remote;
  } else if (!loaded->paths.empty()) {
    input.paths = &loaded->paths;
    input.folder = FolderOf(loaded->paths);
  }
  ASSIGN_OR_RETURN(input.items, ItemsOfEpoch(job, loaded->opened.items));
  return input;
}

absl::StatusOr<LoaderSpec> LoaderSpecOfInput(const Catalogue& catalogue,
                                             const Job& job,
                                             const LoaderInputs::Input& input) {
  ASSIGN_OR_RETURN(LoaderSpec spec, LoaderSpecOfJob(catalogue, job));
  spec.set_source(input.source);
  if (input.remote != nullptr) {
    const std::map<std::string, std::string> fields = input.remote->Fields();
    *spec.mutable_store() = {fields.begin(), fields.end()};
  }
  if (IsSubject(job.library()))
    (*spec.mutable_settings())["dataset"] = input.folder;
  return spec;
}

absl::StatusOr<std::string> ItemBytes(const LoaderInputs::Input& input,
                                      int64_t i) {
  const SourceFile& file = input.files->files[i];
  // Items that were put into a container are read from their files.
  return file.part.has_value() ? input.remote->Read(file) : ReadFile(file.path);
}

absl::StatusOr<Pixels> DecodedItem(const LoaderInputs::Input& input, int64_t i,
                                   int frame, int channels) {
  if (input.decoded.original != nullptr) {
    return PixelsOfItem(*input.decoded.original, i, frame, channels);
  }
  if (input.files->source == "shards") {
    return absl::UnimplementedError("items of shards are not compared");
  }
  const std::string& path = input.files->files[i].path;
  ASSIGN_OR_RETURN(const std::string bytes, ItemBytes(input, i));
  const absl::StatusOr<Image> image = DecodeImage(bytes);
  if (!image.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", image.status().message()));
  }
  const ImageView view = image->view();
  return RepeatChannels(
      PixelsFromBytes(view.data, view.height, view.width, view.channels),
      channels);
}

absl::StatusOr<std::string> HashOfFirst(const LoaderInputs::Input& input,
                                        int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const std::string bytes, ItemBytes(input, i));
    absl::StrAppend(&text, Sha256Hex(bytes), "\n");
  }
  return Sha256Hex(text);
}

absl::StatusOr<std::unique_ptr<MeasuredChild>> SpawnLoader(
    const RunContext& context, const Job& job, const LoaderSpec& spec, int fd,
    PrepareReply* reply) {
  ASSIGN_OR_RETURN(PrepareCommand command,
                   PrepareCommandOfJob(context.catalogue, job));
  *command.mutable_loader() = spec;
  LibraryServer* server = nullptr;
  {
    const TimeAccount::Entry entry(context.account, Spending::kImport);
    ASSIGN_OR_RETURN(server, context.servers->Get(job));
  }
  const TimeAccount::Entry entry(context.account, Spending::kPrepare);
  ASSIGN_OR_RETURN(std::unique_ptr<MeasuredChild> child,
                   MeasuredChild::Spawn(server, job.library(), fd,
                                        context.limits.memory_bytes));
  ASSIGN_OR_RETURN(*reply, child->Prepare(command, PrepareLimit(context)));
  return child;
}

}  // namespace feedrate
