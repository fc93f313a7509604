#include "lib/loader/python/c_api.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/loader/loader.h"
#include "lib/loader/python/engine.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source/remote_source.h"
#include "lib/loader/source/source.h"
#include "lib/storage/object_store.h"
#include "lib/storage/open_store.h"
#include "lib/storage/remote/dialect.h"

struct feedrate_loader {
  feedrate::LoaderOptions options;
  int gpu = -1;  // -1: batches are in host memory.
  feedrate::EpochShare share;
  // Guards the epoch: Python lets other threads run during every call.
  std::mutex mutex;
  std::unique_ptr<feedrate::Engine> engine;
  int64_t earlier_faults = 0;  // Those of epochs that have ended.
  std::string names;
  std::string faults;
};

// Python's own, in every process that has Python.
extern "C" __attribute__((weak)) int PyCapsule_IsValid(void* capsule,
                                                       const char* name);
extern "C" __attribute__((weak)) void* PyCapsule_GetPointer(void* capsule,
                                                            const char* name);

namespace feedrate {

MakeGpuEngineFn make_gpu_engine = nullptr;

namespace {

thread_local std::string last_error;  // NOLINT: a C function returns it.

int Code(const absl::Status& status) {
  if (!status.ok()) last_error = std::string(status.message());
  return static_cast<int>(status.code());
}

// Calls `work`, which returns a status. Nothing is thrown across C.
template <typename Work>
int Guarded(const Work& work) {
  try {
    return Code(work());
  } catch (const std::bad_alloc&) {
    return Code(absl::ResourceExhaustedError("memory ran out"));
  } catch (const std::exception& error) {
    return Code(absl::InternalError(error.what()));
  }
}

// The settings, read name by name.
class Settings {
 public:
  Settings(const char* const* settings, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(settings[i], absl::MaxSplits('=', 1));
      if (parts.first == "step") {
        steps_.push_back(parts.second);
      } else {
        values_[parts.first] = parts.second;
      }
    }
  }

  std::string Text(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      Fail(name, "");
      return "";
    }
    std::string text = std::move(found->second);
    values_.erase(found);
    return text;
  }
  int64_t Integer(const std::string& name) {
    const std::string text = Text(name);
    int64_t value = 0;
    if (!absl::SimpleAtoi(text, &value)) Fail(name, text);
    return value;
  }
  // The place of the value in `words`.
  template <typename T>
  T Word(const std::string& name, const std::vector<std::string>& words) {
    const std::string text = Text(name);
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) Fail(name, text);
    return static_cast<T>(found - words.begin());
  }
  std::vector<double> Numbers(const std::string& name) {
    const std::string text = Text(name);
    std::vector<double> numbers;
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
      if (!absl::SimpleAtod(part, &numbers.emplace_back())) Fail(name, text);
    }
    return numbers;
  }

  // A step each: PROBABILITY NAME|NAME.
  const std::vector<std::string>& steps() const { return steps_; }

  // Those that nobody has read: settings of a store.
  const std::map<std::string, std::string>& rest() const { return values_; }

  absl::Status status() const { return status_; }

 private:
  void Fail(const std::string& name, const std::string& text) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat(name, "=", text, " is not possible"));
  }

  std::map<std::string, std::string> values_;
  std::vector<std::string> steps_;
  absl::Status status_;
};

class PinnedBlock : public MemoryBlock {
 public:
  PinnedBlock(std::unique_ptr<MemoryBlock> block, feedrate_pinning pinning)
      : block_(std::move(block)), pinning_(pinning) {}
  ~PinnedBlock() override { pinning_.unpin(block_->data()); }
  float* data() const override { return block_->data(); }

 private:
  std::unique_ptr<MemoryBlock> block_;
  const feedrate_pinning pinning_;
};

class PinnedPages : public BatchMemory {
 public:
  explicit PinnedPages(const feedrate_pinning& pinning) : pinning_(pinning) {}

  absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(size_t bytes) override {
    ASSIGN_OR_RETURN(std::unique_ptr<MemoryBlock> block,
                     pages_->Allocate(bytes));
    const int error = pinning_.pin(block->data(), bytes, 0);
    if (error == 0) {
      return std::make_unique<PinnedBlock>(std::move(block), pinning_);
    }
    return absl::ResourceExhaustedError(absl::StrCat(
        "pin_memory: cudaHostRegister of ", bytes, " bytes failed with error ",
        error, "; a smaller batch_size needs less"));
  }

 private:
  const feedrate_pinning pinning_;
  const std::unique_ptr<BatchMemory> pages_ = PageMemory();
};

class HostEngine : public Engine {
 public:
  explicit HostEngine(std::unique_ptr<Loader> loader)
      : loader_(std::move(loader)) {}

  const Source& source() const override { return loader_->source(); }
  SampleShape shape() const override { return loader_->shape(); }

  absl::Status Start(int64_t epoch, const EpochShare& share) override {
    ASSIGN_OR_RETURN(
        epoch_, loader_->StartShare(loader_->options().seed, epoch, share));
    return absl::OkStatus();
  }
  bool WaitFor(double seconds) override {
    return epoch_ == nullptr || epoch_->WaitFor(seconds);
  }
  absl::StatusOr<std::unique_ptr<KeptBatch>> Next() override {
    if (epoch_ == nullptr) return nullptr;
    return epoch_->NextKept();
  }
  int64_t End() override {
    if (epoch_ == nullptr) return 0;
    epoch_->Stop();
    const int64_t faults = epoch_->faults().total();
    epoch_.reset();
    return faults;
  }
  const FaultList* faults() const override {
    return epoch_ == nullptr ? nullptr : &epoch_->faults();
  }

 private:
  const std::unique_ptr<Loader> loader_;
  std::unique_ptr<Epoch> epoch_;
};

// Where items come from.

absl::StatusOr<std::unique_ptr<Source>> SourceOfShards(
    const std::vector<std::string>& patterns) {
  std::vector<std::string> shards;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     ExpandBraceLists(pattern));
    shards.insert(shards.end(), names.begin(), names.end());
  }
  return ShardSource(shards);
}

absl::StatusOr<std::unique_ptr<Source>> SourceOfFolder(
    const std::string& folder) {
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source, FolderSource(folder));
  if (source->size() > 0) return source;
  ASSIGN_OR_RETURN(const std::vector<std::string> shards,
                   ListFiles(folder, ".tar", /*recursive=*/true));
  return ShardSource(shards);
}

absl::StatusOr<std::unique_ptr<Source>> SourceOfStore(
    const std::map<std::string, std::string>& fields, bool needs_labels) {
  ASSIGN_OR_RETURN(const StoreSpec spec, ParseStoreSpec(fields));
  ASSIGN_OR_RETURN(const OpenedStore store, OpenCachedStore(spec));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store.store->List());
  std::vector<int64_t> labels;
  ASSIGN_OR_RETURN(
      const std::vector<SourceFile> items,
      StoreItems(objects, {"jpg", "jpeg", "png", "npy"}, 0, store.store.get(),
                 needs_labels ? &labels : nullptr));
  return OpenRemoteSource(spec, items, std::move(labels));
}

absl::StatusOr<std::unique_ptr<Source>> OpenSource(
    const std::string& kind, const std::string& path,
    const std::vector<std::string>& files, const feedrate_array* array,
    bool needs_labels, std::map<std::string, std::string> store) {
  if (kind == "array") {
    return ArraySource(array->data, array->count, array->height, array->width,
                       array->channels);
  }
  if (kind == "store") {
    store["url"] = path;
    return SourceOfStore(store, needs_labels);
  }
  if (kind == "shards") return SourceOfShards(files);
  if (kind == "folder") return SourceOfFolder(path);
  std::vector<ListedFile> listed;
  listed.reserve(files.size());
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const int64_t bytes, PlainFileBytes(file));
    listed.push_back({file, bytes});
  }
  return ListSource(std::move(listed));
}

// What is done to them.

// Finds transforms by name, in the catalogue of `configs`.
class Transforms {
 public:
  // Those of `library`: native or cuda.
  static absl::StatusOr<Transforms> Load(const std::string& configs,
                                         int channels,
                                         const std::string& library) {
    Transforms found;
    found.library_ = library;
    ASSIGN_OR_RETURN(Catalogue catalogue, Catalogue::Load(configs));
    found.catalogue_ = std::make_unique<Catalogue>(std::move(catalogue));
    const Scenario* const scenario = found.catalogue_->FindScenario(
        channels == 9 ? "image-9ch" : "image-rgb");
    if (scenario == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(configs, ": has no scenario of images"));
    }
    ASSIGN_OR_RETURN(found.set_, found.catalogue_->Transforms(*scenario));
    return found;
  }

  // The transform as `pipeline` gives it to the native loader.
  absl::StatusOr<TransformSpec> Find(const std::string& name) const {
    std::vector<std::string> known;
    for (const Transform& transform : set_->transforms()) {
      const Implementation* const how =
          catalogue_->ImplementationOf(transform, library_, "paper");
      if (how == nullptr) {
        if (transform.name() == name && library_ == "cuda") {
          return absl::InvalidArgumentError(
              absl::StrCat("transforms: \"", name,
                           "\" is not made on a GPU; pass device=\"cpu\""));
        }
        continue;
      }
      known.push_back(transform.name());
      if (transform.name() != name) continue;
      TransformSpec spec;
      spec.library = library_;
      spec.transform = name;
      spec.native_op = how->native_op();
      spec.params.assign(how->params().begin(), how->params().end());
      spec.wrap = how->wrap();
      spec.loader.emplace();
      spec.loader->batch_transform = transform.batch_transform();
      const auto& crops = catalogue_->policy().loader().crop_transforms();
      spec.loader->is_crop =
          std::find(crops.begin(), crops.end(), name) != crops.end();
      return spec;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "transforms: \"", name, "\" is unknown", DidYouMean(name, known)));
  }

 private:
  std::string library_;
  std::unique_ptr<Catalogue> catalogue_;
  const TransformSet* set_ = nullptr;
};

absl::Status BadTransform(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("transforms: \"", name, "\" ", what));
}

// Adds one step of the list to the options.
absl::Status AddStep(const Transforms& transforms, const std::string& text,
                     LoaderOptions* options) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 1));
  RecipeStep step;
  if (!absl::SimpleAtod(parts.first, &step.probability) ||
      !(step.probability >= 0 && step.probability <= 1)) {
    return BadTransform(parts.second, "needs a probability from 0 to 1");
  }
  Recipe& recipe = options->recipe;
  const std::vector<std::string> names = absl::StrSplit(parts.second, '|');
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(TransformSpec spec, transforms.Find(name));
    const bool is_mix = IsMixOp(spec.native_op);
    if (!is_mix && !spec.loader->is_crop && spec.native_op != kStepsOp) {
      step.one_of.push_back(std::move(spec));
      continue;
    }
    if (names.size() > 1 || step.probability < 1) {
      return BadTransform(name, "is always applied: name it alone");
    }
    if (is_mix) {
      ASSIGN_OR_RETURN(options->mix, MixOptionsOf(spec));
      return absl::OkStatus();
    }
    if (spec.native_op == kStepsOp) {
      ASSIGN_OR_RETURN(const std::vector<RecipeStep> steps, StepsOf(spec));
      recipe.steps.insert(recipe.steps.end(), steps.begin(), steps.end());
      return absl::OkStatus();
    }
    if (!recipe.steps.empty()) {
      return BadTransform(name, "is a crop and must come first");
    }
    for (std::string& param : spec.params) {
      if (absl::StartsWith(param, "size=")) {
        param = absl::StrCat("size=(", recipe.crop, ",", recipe.crop, ")");
      }
    }
    recipe.first_step_crops = true;
    step.one_of.push_back(std::move(spec));
  }
  recipe.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status AddSteps(Settings* settings, bool on_gpu, LoaderOptions* options) {
  const std::string configs = settings->Text("configs");
  if (!settings->steps().empty()) {
    ASSIGN_OR_RETURN(const Transforms transforms,
                     Transforms::Load(configs, options->recipe.channels,
                                      on_gpu ? "cuda" : "native"));
    for (const std::string& step : settings->steps()) {
      RETURN_IF_ERROR(AddStep(transforms, step, options));
    }
  }
  if (settings->Integer("flip") == 0) return absl::OkStatus();
  TransformSpec flip;
  flip.native_op = on_gpu ? "flip" : "cv::flip";
  flip.params = {on_gpu ? "axis=horizontal" : "flip_code=1"};
  options->recipe.steps.push_back({{flip}, 0.5});
  return absl::OkStatus();
}

absl::StatusOr<LoaderOptions> OptionsOf(Settings* settings, bool on_gpu) {
  LoaderOptions options;
  options.batch_size = static_cast<int>(settings->Integer("batch_size"));
  options.workers = static_cast<int>(settings->Integer("workers"));
  options.buffers = static_cast<int>(settings->Integer("prefetch"));
  options.persistent = true;
  options.shuffle = settings->Integer("shuffle") != 0;
  options.seed = static_cast<uint64_t>(settings->Integer("seed"));
  options.on_error = settings->Word<OnError>("on_error", {"skip", "fail"});
  options.read_ahead.method = settings->Word<ReadMethod>(
      "read_ahead", {"inline", "threads", "io_uring", "auto"});
  Recipe& recipe = options.recipe;
  recipe.channels = static_cast<int>(settings->Integer("channels"));
  recipe.crop = static_cast<int>(settings->Integer("crop"));
  recipe.position =
      settings->Word<CropPosition>("crop_position", {"random", "center"});
  recipe.format = settings->Word<SampleFormat>(
      "format", {"float32 first", "float32 last", "uint8 first", "uint8 last"});
  recipe.mean = settings->Numbers("mean");
  recipe.std = settings->Numbers("std");
  RETURN_IF_ERROR(AddSteps(settings, on_gpu, &options));
  return options;
}

absl::StatusOr<std::unique_ptr<Engine>> MakeEngine(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    const GpuSettings& gpu, const feedrate_pinning* pinning) {
  if (gpu.device >= 0) {
    return make_gpu_engine(std::move(source), options, gpu);
  }
  std::unique_ptr<BatchMemory> memory;
  if (pinning != nullptr) memory = std::make_unique<PinnedPages>(*pinning);
  ASSIGN_OR_RETURN(
      std::unique_ptr<Loader> loader,
      Loader::Create(std::move(source), options, std::move(memory)));
  return std::make_unique<HostEngine>(std::move(loader));
}

absl::Status Open(Settings settings, const std::vector<std::string>& files,
                  const feedrate_array* array, const feedrate_pinning* pinning,
                  feedrate_loader** loader) {
  auto opened = std::make_unique<feedrate_loader>();
  opened->share.rank = settings.Integer("rank");
  opened->share.world = settings.Integer("world_size");
  opened->share.tail =
      settings.Word<EpochShare::Tail>("tail", {"keep", "pad", "drop"});
  // -1 is the CPU.
  GpuSettings gpu;
  gpu.device = opened->gpu = static_cast<int>(settings.Integer("gpu"));
  gpu.nvjpeg = settings.Text("nvjpeg");
  if (gpu.device >= 0 && make_gpu_engine == nullptr) {
    return absl::FailedPreconditionError(
        "device=\"cuda\": this feedrate was built without CUDA; take a wheel "
        "with it, in a checkout run dev/bazel.sh build --config=cuda "
        "//lib/loader/python:feedrate_loader, or pass device=\"cpu\"");
  }
  ASSIGN_OR_RETURN(opened->options, OptionsOf(&settings, gpu.device >= 0));
  const std::string kind = settings.Text("source");
  const std::string path = settings.Text("path");
  const bool needs_labels = settings.Integer("needs_labels") != 0;
  RETURN_IF_ERROR(settings.status());
  ASSIGN_OR_RETURN(
      std::unique_ptr<Source> source,
      OpenSource(kind, path, files, array, needs_labels, settings.rest()));
  if (source->size() == 0) {
    return absl::NotFoundError(absl::StrCat(
        path,
        ": has no .jpg, .jpeg, .png or .npy files, and no .tar files of "
        "them"));
  }
  ASSIGN_OR_RETURN(opened->engine, MakeEngine(std::move(source),
                                              opened->options, gpu, pinning));
  *loader = opened.release();
  return absl::OkStatus();
}

// REQUIRES: the mutex is held.
void EndEpoch(feedrate_loader* loader) {
  loader->earlier_faults += loader->engine->End();
}

// What feedrate_batch.keep points to.
struct Kept {
  std::shared_ptr<KeptBatch> batch;
  int gpu = -1;
};

absl::Status Next(feedrate_loader* loader, double seconds,
                  feedrate_batch* batch) {
  const std::lock_guard<std::mutex> lock(loader->mutex);
  *batch = feedrate_batch{};
  if (!loader->engine->WaitFor(seconds)) {
    return absl::DeadlineExceededError("no batch yet");
  }
  ASSIGN_OR_RETURN(std::shared_ptr<KeptBatch> kept, loader->engine->Next());
  if (kept == nullptr) return absl::OkStatus();
  batch->data = kept->batch.data;
  batch->size = kept->batch.size;
  batch->items = kept->batch.items.data();
  batch->own_share = kept->batch.mix.own_share;
  batch->keep = new Kept{std::move(kept), loader->gpu};
  return absl::OkStatus();
}

// DLPack's binary interface, of all its versions before 1.0, which consumers
// still take: github.com/dmlc/dlpack.
struct DlTensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* owner;
  void (*deleter)(DlManagedTensor* self);
};
constexpr int32_t kDlCpu = 1;
constexpr int32_t kDlCuda = 2;
constexpr uint8_t kDlUnsigned = 1;
constexpr uint8_t kDlFloat = 2;
constexpr char kDlName[] = "dltensor";

// A batch that a consumer of DLPack has.
struct Export {
  DlManagedTensor managed = {};
  int64_t shape[4] = {};
  int64_t strides[4] = {};
  std::shared_ptr<KeptBatch> batch;
  // Where the consumer works on it; null in host memory.
  void* stream = nullptr;
  pid_t process = 0;
};

// Called by the consumer, on any thread.
void EndExport(DlManagedTensor* managed) {
  auto* const ended = static_cast<Export*>(managed->owner);
  // A forked process has the memory, but neither the threads nor the GPU.
  if (ended->process != getpid()) return;
  if (ended->stream != nullptr) ended->batch->block->UsedBy(ended->stream);
  delete ended;
}

DlManagedTensor* MakeExport(const Kept& kept, void* stream) {
  auto made = std::make_unique<Export>();
  const LoaderBatch& batch = kept.batch->batch;
  const SampleShape& shape = batch.shape;
  const int64_t planes[] = {batch.size, shape.channels, shape.height,
                            shape.width};
  const int64_t pixels[] = {batch.size, shape.height, shape.width,
                            shape.channels};
  std::copy_n(shape.is_planes() ? planes : pixels, 4, made->shape);
  made->strides[3] = 1;
  for (int i = 2; i >= 0; --i) {
    made->strides[i] = made->strides[i + 1] * made->shape[i + 1];
  }
  DlTensor& tensor = made->managed.tensor;
  tensor.data = const_cast<float*>(batch.data);
  tensor.device_type = kept.gpu < 0 ? kDlCpu : kDlCuda;
  tensor.device_id = std::max(kept.gpu, 0);
  tensor.ndim = 4;
  tensor.type_code = shape.is_float() ? kDlFloat : kDlUnsigned;
  tensor.type_bits = shape.is_float() ? 32 : 8;
  tensor.type_lanes = 1;
  tensor.shape = made->shape;
  tensor.strides = made->strides;
  made->batch = kept.batch;
  made->stream = kept.gpu < 0 ? nullptr : stream;
  made->process = getpid();
  made->managed.owner = made.get();
  made->managed.deleter = EndExport;
  return &made.release()->managed;
}

}  // namespace
}  // namespace feedrate

int feedrate_loader_abi() { return 2; }

const char* feedrate_error() { return feedrate::last_error.c_str(); }

int feedrate_open(const char* const* settings, int64_t num_settings,
                  const char* const* files, int64_t num_files,
                  const feedrate_array* array, const feedrate_pinning* pinning,
                  feedrate_loader** loader) {
  return feedrate::Guarded([&] {
    return feedrate::Open(feedrate::Settings(settings, num_settings),
                          {files, files + num_files}, array, pinning, loader);
  });
}

void feedrate_close(feedrate_loader* loader) {
  feedrate_stop(loader);
  delete loader;
}

int64_t feedrate_size(const feedrate_loader* loader) {
  return loader->engine->source().size();
}

const char* feedrate_names(feedrate_loader* loader, int64_t* bytes) {
  loader->names.clear();
  const feedrate::Source& source = loader->engine->source();
  for (int64_t i = 0; i < source.size(); ++i) {
    loader->names += source.name(i);
    loader->names += '\0';
  }
  *bytes = static_cast<int64_t>(loader->names.size());
  return loader->names.data();
}

void feedrate_labels(const feedrate_loader* loader, int64_t* labels) {
  const feedrate::Source& source = loader->engine->source();
  for (int64_t i = 0; i < source.size(); ++i) labels[i] = source.label(i);
}

void feedrate_shape(const feedrate_loader* loader, int32_t* shape) {
  const feedrate::SampleShape found = loader->engine->shape();
  shape[0] = found.channels;
  shape[1] = found.height;
  shape[2] = found.width;
  shape[3] = loader->options.mix.kind != feedrate::MixKind::kNone;
}

int64_t feedrate_count(const feedrate_loader* loader, int64_t start) {
  feedrate::EpochShare share = loader->share;
  share.start = start;
  return share.Count(feedrate_size(loader), loader->options.batch_size);
}

int feedrate_start(feedrate_loader* loader, int64_t epoch, int64_t start) {
  return feedrate::Guarded([&]() -> absl::Status {
    const std::lock_guard<std::mutex> lock(loader->mutex);
    feedrate::EndEpoch(loader);
    feedrate::EpochShare share = loader->share;
    share.start = start;
    return loader->engine->Start(epoch, share);
  });
}

int feedrate_next(feedrate_loader* loader, double seconds,
                  feedrate_batch* batch) {
  return feedrate::Guarded(
      [&] { return feedrate::Next(loader, seconds, batch); });
}

void feedrate_release(void* keep) { delete static_cast<feedrate::Kept*>(keep); }

void* feedrate_dlpack(const void* keep, void* stream) {
  return feedrate::MakeExport(*static_cast<const feedrate::Kept*>(keep),
                              stream);
}

void feedrate_drop_capsule(void* capsule) {
  // A consumer has given it another name.
  if (PyCapsule_IsValid(capsule, feedrate::kDlName) == 0) return;
  feedrate::EndExport(static_cast<feedrate::DlManagedTensor*>(
      PyCapsule_GetPointer(capsule, feedrate::kDlName)));
}

void feedrate_stop(feedrate_loader* loader) {
  const std::lock_guard<std::mutex> lock(loader->mutex);
  feedrate::EndEpoch(loader);
}

int64_t feedrate_faults(feedrate_loader* loader, const char** text) {
  const std::lock_guard<std::mutex> lock(loader->mutex);
  loader->faults.clear();
  int64_t total = loader->earlier_faults;
  const feedrate::FaultList* const faults = loader->engine->faults();
  if (faults != nullptr) {
    total += faults->total();
    for (const feedrate::ItemFault& fault : faults->kept()) {
      absl::StrAppend(&loader->faults, fault.name, ": ", fault.reason, "\n");
    }
  }
  *text = loader->faults.c_str();
  return total;
}
