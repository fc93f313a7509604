#include "lib/model/worker/loader_batches.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/loader/epoch.h"
#include "lib/loader/file_source.h"
#include "lib/loader/loader.h"
#include "lib/model/torch/phase_clock.h"

namespace feedrate {
namespace {

// Enough to see the speed of a disk, little enough not to fill the cache.
constexpr int64_t kProbeBytes = 64 << 20;

void Check(const absl::Status& status) {
  if (!status.ok()) {
    throw std::runtime_error("loader: " + std::string(status.message()));
  }
}

struct FileList {
  std::vector<ListedFile> files;
  std::vector<int64_t> classes;
  int64_t bytes = 0;
};

FileList ListFolder(const LoaderBatchOptions& options) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(options.folder, error)) {
    if (entry.is_regular_file() && IsItemName(entry.path().string())) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.resize(static_cast<size_t>(paths.size() * options.sample_ratio));
  std::map<std::string, int64_t> folders;
  for (const auto& path : paths) {
    folders.emplace(path.parent_path().string(), folders.size());
  }
  FileList list;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (static_cast<int>(i % options.world_size) != options.rank) continue;
    ListedFile file;
    file.path = paths[i].string();
    file.bytes = static_cast<int64_t>(std::filesystem::file_size(paths[i]));
    list.bytes += file.bytes;
    list.files.push_back(file);
    const int64_t label =
        folders.size() > 1 ? folders[paths[i].parent_path().string()] : i;
    list.classes.push_back(label % options.classes);
  }
  if (static_cast<int64_t>(list.files.size()) < options.batch_size) {
    throw std::runtime_error(
        options.folder + ": has " + std::to_string(list.files.size()) +
        " images for a batch of " + std::to_string(options.batch_size));
  }
  return list;
}

std::string FileSystemName(const std::string& folder) {
  struct statfs info;
  if (statfs(folder.c_str(), &info) != 0) return "unknown";
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x6969:
      return "nfs";
    case 0x794C7630:
      return "overlay";
    default:
      return "other";
  }
}

// Reads the first files once, whole.
std::string MeasureStorage(const LoaderBatchOptions& options,
                           const FileList& list) {
  int64_t bytes = 0;
  std::string buffer;
  const double start = MonotonicSeconds();
  for (const ListedFile& file : list.files) {
    if (bytes > kProbeBytes) break;
    buffer.resize(file.bytes);
    std::ifstream(file.path, std::ios::binary).read(buffer.data(), file.bytes);
    bytes += file.bytes;
  }
  char text[64];
  std::snprintf(text, sizeof(text), ", %.0f MB/s",
                bytes / 1e6 / (MonotonicSeconds() - start));
  return FileSystemName(options.folder) + text;
}

class NativeBatches : public BatchSource {
 public:
  NativeBatches(std::unique_ptr<Loader> loader, std::vector<int64_t> classes)
      : loader_(std::move(loader)), classes_(std::move(classes)) {}

  ~NativeBatches() override { epoch_ = nullptr; }

  // Batches come in their order; `index` only counts.
  TrainBatch Get(int64_t) override {
    const LoaderBatch* const batch = Next();
    const at::Tensor images =
        at::from_blob(const_cast<float*>(batch->data),
                      {batch->size, batch->shape.channels, batch->shape.height,
                       batch->shape.width},
                      at::kFloat);
    const at::Tensor classes = at::empty({batch->size}, at::kLong);
    for (int i = 0; i < batch->size; ++i) {
      classes.mutable_data_ptr<int64_t>()[i] =
          classes_[batch->items[i] % classes_.size()];
    }
    // The loader gets its memory back with the next call, when the step that
    // used it has ended.
    return {images, classes};
  }

 private:
  const LoaderBatch* Next() {
    for (int tries = 0; tries < 2; ++tries) {
      if (epoch_ != nullptr) {
        const absl::StatusOr<const LoaderBatch*> batch = epoch_->Next();
        Check(batch.status());
        if (*batch != nullptr) return *batch;
        epoch_ = nullptr;
      }
      auto epoch = loader_->StartEpoch(number_++);
      Check(epoch.status());
      epoch_ = *std::move(epoch);
    }
    throw std::runtime_error("loader: an epoch without a batch");
  }

  std::unique_ptr<Loader> loader_;
  const std::vector<int64_t> classes_;
  std::unique_ptr<Epoch> epoch_;
  int64_t number_ = 0;
};

}  // namespace

LoaderBatches MakeLoaderBatches(const LoaderBatchOptions& options) {
  FileList list = ListFolder(options);
  LoaderBatches result;
  result.files = list.files.size();
  result.bytes = list.bytes;
  result.storage = MeasureStorage(options, list);
  LoaderOptions loader_options;
  loader_options.recipe.crop = static_cast<int>(options.image_size);
  loader_options.batch_size = static_cast<int>(options.batch_size);
  loader_options.workers = options.workers;
  loader_options.persistent = true;
  loader_options.drop_last = true;
  loader_options.shuffle = true;
  loader_options.seed = options.seed;
  TransformSpec flip;
  flip.native_op = "cv::flip";
  flip.params = {"flip_code=1"};
  RecipeStep step;
  step.one_of = {flip};
  step.probability = 0.5;
  loader_options.recipe.steps = {step};
  auto loader =
      Loader::Create(ListSource(std::move(list.files)), loader_options);
  Check(loader.status());
  result.batches = std::make_unique<NativeBatches>(*std::move(loader),
                                                   std::move(list.classes));
  return result;
}

}  // namespace feedrate
