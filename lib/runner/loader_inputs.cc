#include "lib/runner/loader_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/machine/resources.h"
#include "lib/media/image_file.h"
#include "lib/media/synthetic.h"
#include "lib/records/records.pb.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"
#include "lib/runner/cache_folder.h"
#include "lib/runner/clip_frames.h"
#include "lib/runner/file_sets.h"
#include "lib/runner/input_corpora.h"
#include "lib/runner/loader_spec.h"
#include "lib/runner/null_job.h"
#include "lib/runner/remote_data.h"
#include "lib/worker/loader_message.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

// The loader that reads from stores.
constexpr char kNative[] = "native";
constexpr char kMixtureMode[] = "mixture";

bool WantsShards(const Catalogue& catalogue, const Job& job) {
  const Library* library = catalogue.FindLibrary(job.library());
  return library != nullptr && library->loader_source() == "shards";
}

// What of `items` an epoch goes through.
absl::StatusOr<int64_t> ItemsOfEpoch(const Job& job, int64_t items) {
  ASSIGN_OR_RETURN(const EpochPolicy policy, EpochPolicyOfJob(job));
  const double share = std::ceil(policy.sample_ratio * items);
  return std::clamp<int64_t>(static_cast<int64_t>(share), 1, items);
}

}  // namespace

bool NeedsLocalData(const Job& job) {
  if (job.mode() == kMixtureMode) return true;
  const bool reads_objects = IsNullJob(job) || job.library() == kNative;
  return !IsLoaderJob(job) || job.scope() == kMemoryScope || !reads_objects;
}

std::vector<std::string> ItemEndings(const Catalogue& catalogue,
                                     const Job& job) {
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  const MediaPolicy& media = *catalogue.FindMedia(scenario->media());
  std::vector<std::string> endings(media.extensions().begin(),
                                   media.extensions().end());
  for (const std::string& ending :
       catalogue.policy().loader().array_extensions()) {
    endings.push_back(ending);
  }
  // Beside the shards of a mixture lies what they weigh.
  if (job.mode() == kMixtureMode) endings.emplace_back("textproto");
  return endings;
}

LoaderInputs::LoaderInputs(const Catalogue& catalogue, std::string dataset,
                           RemoteData* remote, InputCorpora* corpora,
                           FileProgress progress)
    : catalogue_(catalogue),
      dataset_(std::move(dataset)),
      remote_(remote),
      corpora_(corpora),
      progress_(std::move(progress)) {}

LoaderInputs::Kind LoaderInputs::KindOf(const Job& job) const {
  if (remote_ != nullptr && !NeedsLocalData(job)) return Kind::kObjects;
  return WantsShards(catalogue_, job) ? Kind::kShards : Kind::kFiles;
}

absl::StatusOr<FileSet> LoaderInputs::Files(const Job& job, Kind kind) const {
  if (kind == Kind::kObjects) {
    return remote_->Objects(ItemEndings(catalogue_, job), job.num_items());
  }
  const std::string dataset = dataset_.empty() ? job.dataset() : dataset_;
  if (IsSynthetic(dataset)) {
    return WriteSynthetic(dataset, job.num_items(), CacheFolder(), progress_);
  }
  if (dataset_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), " is for the data set \"",
                     job.dataset(), "\"; say where it is with --dataset=DIR"));
  }
  return ListFolder(dataset, ItemEndings(catalogue_, job), job.num_items());
}

absl::StatusOr<const LoaderInputs::Loaded*> LoaderInputs::Load(const Job& job) {
  const Kind kind = KindOf(job);
  std::unique_ptr<Loaded>& known =
      loaded_[{job.dataset(), job.num_items(), kind}];
  if (known != nullptr) return known.get();
  auto loaded = std::make_unique<Loaded>();
  ASSIGN_OR_RETURN(loaded->files, Files(job, kind));
  loaded->opened = loaded->files;
  if (kind == Kind::kShards) {
    ASSIGN_OR_RETURN(loaded->opened,
                     WriteShards(loaded->files, CacheFolder(), progress_));
  }
  ASSIGN_OR_RETURN(loaded->list, WriteSourceList(loaded->opened.files));
  loaded->dataset.set_id(job.dataset());
  loaded->dataset.set_files(static_cast<int64_t>(loaded->opened.files.size()));
  int64_t bytes = 0;
  for (const SourceFile& file : loaded->opened.files) {
    loaded->paths.push_back(file.path);
    bytes += file.bytes;
  }
  loaded->dataset.set_bytes(bytes);
  // Rows are warm unless they say otherwise.
  if (kind != Kind::kObjects) RETURN_IF_ERROR(ReadPages(loaded->paths));
  known = std::move(loaded);
  return known.get();
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
  if (input.source == "objects") {
    input.remote = remote_;
  } else {
    input.paths = &loaded->paths;
  }
  ASSIGN_OR_RETURN(input.items, ItemsOfEpoch(job, loaded->opened.items));
  return input;
}

absl::StatusOr<std::string> ItemBytes(const LoaderInputs::Input& input,
                                      int64_t i) {
  const SourceFile& file = input.files->files[i];
  return input.remote != nullptr ? input.remote->Read(file)
                                 : ReadFile(file.path);
}

absl::StatusOr<Pixels> DecodedItem(const LoaderInputs::Input& input, int64_t i,
                                   int frame, int channels) {
  if (input.decoded.plain != nullptr) {
    const ImageView image = FrameOfItem(*input.decoded.plain, i, frame);
    return PixelsFromBytes(image.data, image.height, image.width,
                           image.channels);
  }
  if (input.files->source == "shards") {
    return absl::UnimplementedError("items of shards are not compared");
  }
  const std::string& path = input.files->files[i].path;
  ASSIGN_OR_RETURN(const std::string bytes, ItemBytes(input, i));
  const absl::StatusOr<Image> image = DecodeImage(bytes);
  if (!image.ok()) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": ", image.status().message()));
  }
  const ImageView view = image->view();
  return RepeatChannels(
      PixelsFromBytes(view.data, view.height, view.width, view.channels),
      channels);
}

}  // namespace feedrate
