#include "lib/model/worker/loader_batches.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/loader/cuda/cuda_copy.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/loader.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/loader/mixture/mixture_loader.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source.h"

#if defined(FEEDRATE_CUDA)
#include "lib/loader/cuda/gpu_loader.h"
#include "lib/model/worker/gpu_copy.h"
#endif

namespace feedrate {
namespace {

// Batches in memory for a GPU, whose steps are short.
constexpr int kGpuBuffers = 4;
// More than a training takes, and sums of them do not overflow.
constexpr int64_t kMostSamples = int64_t{1} << 53;

SkippedFiles SkippedOf(const FaultList& faults) {
  SkippedFiles skipped;
  skipped.total = faults.total();
  for (const ItemFault& fault : faults.all()) {
    skipped.first.push_back({fault.item, fault.name, fault.reason});
  }
  return skipped;
}

// A file that is unusable in one epoch is so in every one that reads it.
void Add(const SkippedFiles& epoch, SkippedFiles* all) {
  for (const SkippedFiles::File& file : epoch.first) {
    const auto is_same = [&](const SkippedFiles::File& other) {
      return other.item == file.item;
    };
    if (std::none_of(all->first.begin(), all->first.end(), is_same)) {
      all->first.push_back(file);
    }
  }
  all->total = std::max(
      {all->total, epoch.total, static_cast<int64_t>(all->first.size())});
}

at::Tensor LabelsOf(const std::vector<int64_t>& items,
                    const std::vector<int64_t>& classes) {
  const at::Tensor of_items =
      at::empty({static_cast<int64_t>(items.size())}, at::kLong);
  int64_t* to = of_items.mutable_data_ptr<int64_t>();
  for (const int64_t item : items) *to++ = classes.at(item);
  return of_items;
}

std::vector<int64_t> ShapeOf(const LoaderBatch& batch) {
  return {batch.size, batch.shape.channels, batch.shape.height,
          batch.shape.width};
}

// The loader's own memory, and the classes of its images.
TrainBatch TensorsOf(const LoaderBatch& batch,
                     const std::vector<int64_t>& classes) {
  return {
      at::from_blob(const_cast<float*>(batch.data), ShapeOf(batch), at::kFloat),
      LabelsOf(batch.items, classes)};
}

// How far all processes together are: an epoch, and the samples of it that they
// have taken.
class EpochPlace {
 public:
  EpochPlace(const LoaderBatchOptions& options, int64_t files)
      : step_(options.world_size * options.batch_size) {
    share_.rank = options.rank;
    share_.world = options.world_size;
    share_.tail = EpochShare::Tail::kDrop;
    if (options.position.empty()) return;
    const bool is_place = options.position.size() == 2;
    epoch_ = is_place ? options.position[0] : -1;
    share_.start = is_place ? options.position[1] : -1;
    if (epoch_ < 0 || epoch_ > kMostSamples || share_.start < 0 ||
        share_.start > files) {
      throw std::runtime_error(
          "loader: the checkpoint's position is none in this data");
    }
  }

  int64_t epoch() const { return epoch_; }
  // What this process takes of the rest of the epoch.
  const EpochShare& share() const { return share_; }
  void TookBatch() { share_.start += step_; }
  void EndEpoch() {
    ++epoch_;
    share_.start = 0;
  }
  std::vector<int64_t> numbers() const { return {epoch_, share_.start}; }

 private:
  const int64_t step_;
  int64_t epoch_ = 0;
  EpochShare share_;
};

class NativeBatches : public BatchSource {
 public:
  NativeBatches(std::unique_ptr<Loader> loader, std::vector<int64_t> classes,
                const LoaderBatchOptions& options)
      : loader_(std::move(loader)),
        classes_(std::move(classes)),
        on_gpu_(options.to_gpu),
        place_(options, static_cast<int64_t>(classes_.size())) {}

  ~NativeBatches() override { epoch_ = nullptr; }

  SkippedFiles skipped() const override {
    SkippedFiles all = skipped_;
    if (epoch_ != nullptr) Add(SkippedOf(epoch_->faults()), &all);
    return all;
  }

  std::vector<int64_t> Position() const override { return place_.numbers(); }

  // Batches come in order; `index` only counts.
  TrainBatch Get(int64_t) override {
#if defined(FEEDRATE_CUDA)
    if (on_gpu_) copy_.Wait();
#endif
    const LoaderBatch* const batch = Next();
#if defined(FEEDRATE_CUDA)
    if (on_gpu_) {
      return {copy_.Of(batch->data, ShapeOf(*batch), /*is_on_gpu=*/true),
              LabelsOf(batch->items, classes_)};
    }
#endif
    // The loader gets its memory back at the next call, when the step that used
    // it has ended.
    return TensorsOf(*batch, classes_);
  }

 private:
  const LoaderBatch* Next() {
    // An epoch that ends, one whose rest is less than a batch, and a whole one.
    for (int tries = 0; tries < 3; ++tries) {
      if (epoch_ != nullptr) {
        const absl::StatusOr<const LoaderBatch*> batch = epoch_->Next();
        CheckLoader(batch.status());
        if (*batch != nullptr) {
          place_.TookBatch();
          return *batch;
        }
        Add(SkippedOf(epoch_->faults()), &skipped_);
        epoch_ = nullptr;
        place_.EndEpoch();
      }
      epoch_ = LoaderValue(loader_->StartShare(loader_->options().seed,
                                               place_.epoch(), place_.share()));
    }
    throw std::runtime_error("loader: an epoch without a batch");
  }

  std::unique_ptr<Loader> loader_;
  const std::vector<int64_t> classes_;
  const bool on_gpu_;
#if defined(FEEDRATE_CUDA)
  GpuCopy copy_;
#endif
  EpochPlace place_;
  std::unique_ptr<Epoch> epoch_;
  SkippedFiles skipped_;  // Files skipped in epochs that ended.
};

std::vector<int64_t> ClassesOf(const std::vector<ImageFile>& files) {
  std::vector<int64_t> classes;
  for (const ImageFile& file : files) classes.push_back(file.label);
  return classes;
}

std::unique_ptr<Loader> MakeLoader(std::unique_ptr<Source> source,
                                   const LoaderBatchOptions& options,
                                   LoaderOptions loader_options) {
  loader_options.recipe.crop = static_cast<int>(options.image_size);
  loader_options.batch_size = static_cast<int>(options.batch_size);
  loader_options.workers = options.workers;
  loader_options.seed = options.seed;
  std::unique_ptr<BatchMemory> memory;
  std::unique_ptr<DeviceCopy> copy;
  if (options.to_gpu) {
    memory = LoaderValue(PinnedMemory());
    copy = LoaderValue(CudaCopy());
    loader_options.buffers = kGpuBuffers;
  }
  if (options.prefetch > 0) loader_options.buffers = options.prefetch + 1;
  return LoaderValue(Loader::Create(std::move(source), loader_options,
                                    std::move(memory), std::move(copy)));
}

// The steps of the options, or else `usual`.
std::vector<RecipeStep> RecipeSteps(const LoaderBatchOptions& options,
                                    const std::string& usual) {
  TransformSpec steps;
  steps.native_op = kStepsOp;
  steps.params = options.recipe;
  if (steps.params.empty()) steps.params = {usual};
  return LoaderValue(StepsOf(steps));
}

}  // namespace

std::unique_ptr<BatchSource> MakeLoaderBatches(
    const std::vector<ImageFile>& files, std::unique_ptr<Source> source,
    const LoaderBatchOptions& options) {
  LoaderOptions loader_options;
  loader_options.persistent = true;
  loader_options.drop_last = true;
  loader_options.shuffle = true;
  loader_options.recipe.steps =
      RecipeSteps(options, "step1=0.5 cv::flip{flip_code=1}");
  return std::make_unique<NativeBatches>(
      MakeLoader(std::move(source), options, loader_options), ClassesOf(files),
      options);
}

SkippedFiles ForEachImageBatch(
    const LabeledImages& images, const LoaderBatchOptions& options,
    const std::function<void(const TrainBatch&)>& use) {
  LoaderOptions loader_options;
  loader_options.recipe.position = CropPosition::kCenter;
  const std::vector<int64_t> classes = ClassesOf(images.files);
  std::unique_ptr<Source> source = SourceOf(images.files);
  if (!images.shards.empty()) {
    auto shards = ShardSource(images.shards);
    CheckLoader(shards.status());
    source = *std::move(shards);
  }
  const auto loader = MakeLoader(std::move(source), options, loader_options);
  auto epoch = loader->StartEpoch(0);
  CheckLoader(epoch.status());
  // The file behind an unusable one takes its place, and comes again.
  std::vector<bool> seen(classes.size());
  for (;;) {
    const absl::StatusOr<const LoaderBatch*> batch = (*epoch)->Next();
    CheckLoader(batch.status());
    if (*batch == nullptr) return SkippedOf((*epoch)->faults());
    std::vector<int64_t> fresh;
    for (int i = 0; i < (*batch)->size; ++i) {
      const int64_t item = (*batch)->items[i];
      if (!seen[item]) fresh.push_back(i);
      seen[item] = true;
    }
    const TrainBatch all = TensorsOf(**batch, classes);
    const at::Tensor rows = at::tensor(fresh, at::kLong);
    if (static_cast<int>(fresh.size()) == (*batch)->size) {
      use(all);
    } else if (!fresh.empty()) {
      use({all.input.index_select(0, rows), all.target.index_select(0, rows)});
    }
  }
}

#if defined(FEEDRATE_CUDA)

namespace {

class GpuBatches : public BatchSource {
 public:
  GpuBatches(const LoaderOptions& loader, std::unique_ptr<Source> source,
             std::vector<int64_t> classes, const LoaderBatchOptions& options)
      : side_(loader.recipe.crop),
        classes_(std::move(classes)),
        seed_(options.seed),
        place_(options, static_cast<int64_t>(classes_.size())),
        loader_(LoaderValue(MakeDeviceLoader(
            std::move(source), loader,
            LoaderValue(GpuRecipe::Create(loader.recipe, loader.mix)),
            LoaderValue(UsableGpuOptions(loader.workers, {}))))) {
    Start();
  }

  SkippedFiles skipped() const override {
    SkippedFiles all = skipped_;
    Add(SkippedOf(loader_->faults()), &all);
    return all;
  }

  std::vector<int64_t> Position() const override { return place_.numbers(); }

  TrainBatch Get(int64_t) override {
    copy_.Wait();
    DeviceBatch batch = LoaderValue(loader_->Next());
    // The end of an epoch, which may follow a rest of less than a batch.
    for (int tries = 0; batch.count == 0 && tries < 2; ++tries) {
      skipped_ = skipped();
      place_.EndEpoch();
      Start();
      batch = LoaderValue(loader_->Next());
    }
    if (batch.count == 0) {
      throw std::runtime_error("loader: an epoch without a batch");
    }
    place_.TookBatch();
    return {copy_.Of(batch.data, {batch.count, 3, side_, side_},
                     /*is_on_gpu=*/true),
            LabelsOf(batch.items, classes_)};
  }

 private:
  void Start() {
    CheckLoader(loader_->StartShare(seed_, place_.epoch(), place_.share()));
  }

  const int64_t side_;
  const std::vector<int64_t> classes_;
  const uint64_t seed_;
  EpochPlace place_;
  const std::unique_ptr<DeviceLoader> loader_;
  GpuCopy copy_;
  SkippedFiles skipped_;  // Files skipped in epochs that ended.
};

}  // namespace

std::unique_ptr<BatchSource> MakeGpuBatches(const std::vector<ImageFile>& files,
                                            std::unique_ptr<Source> source,
                                            const LoaderBatchOptions& options) {
  LoaderOptions loader;
  loader.batch_size = options.batch_size;
  loader.workers = options.workers;
  loader.buffers = options.prefetch > 0 ? options.prefetch : kGpuBuffers;
  loader.drop_last = loader.shuffle = true;
  loader.recipe.crop = static_cast<int>(options.image_size);
  loader.recipe.steps = RecipeSteps(options, "step1=0.5 flip{axis=horizontal}");
  return std::make_unique<GpuBatches>(loader, std::move(source),
                                      ClassesOf(files), options);
}

#else

std::unique_ptr<BatchSource> MakeGpuBatches(const std::vector<ImageFile>&,
                                            std::unique_ptr<Source>,
                                            const LoaderBatchOptions&) {
  throw std::runtime_error(
      "loader cuda: this program was built without CUDA; build it with "
      "--config=cuda, or use --loader=native");
}

#endif

namespace {

void CheckMixture(const absl::Status& status) {
  if (!status.ok()) {
    throw std::runtime_error("mixture: " + std::string(status.message()));
  }
}

void Apply(const std::string& name, const std::string& value,
           MixtureSpec* spec) {
  const std::vector<MixtureNumber>& numbers = MixtureNumbers();
  const auto found = std::find_if(
      numbers.begin(), numbers.end(),
      [&](const MixtureNumber& number) { return name == number.name; });
  if (name == "metadata") {
    spec->metadata = value;
  } else if (found == numbers.end()) {
    throw std::runtime_error("mixture: no setting " + name + " is known");
  } else if (!absl::SimpleAtoi(value, &(spec->*found->field))) {
    throw std::runtime_error("mixture: " + name + " \"" + value +
                             "\" is not a whole number");
  }
}

MixtureSpec SpecOf(const MixtureBatchOptions& options) {
  if (options.batch_size % 2 != 0) {
    throw std::runtime_error(
        "mixture: samples have two frames, so the batch size must be even");
  }
  MixtureSpec spec;
  for (const absl::string_view word :
       absl::StrSplit(options.settings, ';', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(word, '=');
    if (parts.size() != 2) {
      throw std::runtime_error("mixture: \"" + std::string(word) +
                               "\" is not NAME=VALUE");
    }
    Apply(parts[0], parts[1], &spec);
  }
  spec.batch_size = options.batch_size / 2;
  spec.frame_height = spec.frame_width = static_cast<int>(options.image_size);
  CheckMixture(CheckMixtureSpec(spec));
  return spec;
}

// `position` is one of MixtureBatches, or empty.
void ContinueAt(const std::vector<int64_t>& position, MixtureOptions* options) {
  if (position.empty()) return;
  options->done = position[0];
  for (size_t i = 1; i + 1 < position.size(); i += 2) {
    options->places.push_back({position[i], position[i + 1]});
  }
  // Without places, all samples that are done would be read again.
  bool is_place = position.size() % 2 == 1 && position.size() > 1 &&
                  options->done >= 0 && options->done <= kMostSamples;
  for (const StreamPlace& place : options->places) {
    is_place &= place.pair >= 0 && place.episode <= kMostSamples;
  }
  if (!is_place) {
    throw std::runtime_error(
        "mixture: the checkpoint's position is none in this data");
  }
}

class MixtureBatches : public BatchSource {
 public:
  MixtureBatches(const std::vector<MixtureSource>& sources,
                 const MixtureOptions& options)
      : done_(options.done),
        // Same as for other images.
        mean_(at::tensor({0.485F, 0.456F, 0.406F}).mul_(255)),
        deviation_(at::tensor({0.229F, 0.224F, 0.225F}).mul_(255)) {
    CheckMixture(memory_.Reserve(options.spec));
    auto loader = MixtureLoader::Start(sources, options, &memory_);
    CheckMixture(loader.status());
    loader_ = *std::move(loader);
  }

  // Batches come in order; `index` only counts.
  TrainBatch Get(int64_t) override {
    const absl::StatusOr<const MixtureBatch*> next = loader_->Next();
    CheckMixture(next.status());
    const MixtureBatch* const batch = *next;
    if (batch == nullptr) {
      throw std::runtime_error("mixture: there are no batches left");
    }
    done_ += batch->size;
    const int64_t frames = 2 * static_cast<int64_t>(batch->size);
    const at::Tensor bytes = at::from_blob(
        const_cast<uint8_t*>(batch->frames),
        {frames, batch->shape.height, batch->shape.width, 3}, at::kByte);
    const at::Tensor images =
        bytes.to(at::kFloat).sub_(mean_).div_(deviation_).permute({0, 3, 1, 2});
    const at::Tensor classes = at::empty({frames}, at::kLong);
    int64_t* const out = classes.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i < frames; ++i) out[i] = (*batch->datasets)[i / 2];
    return {images.contiguous(), classes};
  }

  // The samples, and the episode and pair of each data set.
  std::vector<int64_t> Position() const override {
    std::vector<int64_t> numbers = {done_};
    for (const StreamPlace& place : loader_->Places()) {
      numbers.push_back(place.episode);
      numbers.push_back(place.pair);
    }
    return numbers;
  }

  SkippedFiles skipped() const override { return SkippedOf(loader_->faults()); }

 private:
  int64_t done_;  // Samples.
  const at::Tensor mean_;
  const at::Tensor deviation_;
  // Must outlive the loader.
  MixtureMemory memory_;
  std::unique_ptr<MixtureLoader> loader_;
};

}  // namespace

std::vector<ImageFile> ShardsOfMixture(const std::string& folder) {
  const auto sources = ReadMixtureFolder(folder);
  CheckMixture(sources.status());
  std::vector<ImageFile> shards;
  for (size_t i = 0; i < sources->size(); ++i) {
    for (const std::string& shard : (*sources)[i].shards) {
      ImageFile& file = shards.emplace_back();
      file.path = shard;
      file.bytes = static_cast<int64_t>(std::filesystem::file_size(shard));
      file.label = static_cast<int64_t>(i);
    }
  }
  return shards;
}

std::unique_ptr<BatchSource> MakeMixtureBatches(
    const MixtureBatchOptions& options) {
  auto sources = ReadMixtureFolder(options.folder);
  CheckMixture(sources.status());
  if (static_cast<int64_t>(sources->size()) > options.classes) {
    throw std::runtime_error(
        absl::StrCat("mixture: ", options.folder, ": has ", sources->size(),
                     " data sets, which are its classes, and the model has ",
                     options.classes, "; use a model with more"));
  }
  MixtureOptions mixture;
  mixture.spec = SpecOf(options);
  mixture.seed = options.seed;
  // Unlimited: the training decides.
  mixture.count = std::numeric_limits<int64_t>::max() / 2;
  ContinueAt(options.position, &mixture);
  return std::make_unique<MixtureBatches>(*sources, mixture);
}

}  // namespace feedrate
