#include "lib/loader/python/c_api.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/loader.h"
#include "lib/loader/python/engine.h"
#include "lib/loader/python/settings.h"
#include "lib/loader/source/source.h"

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

absl::StatusOr<std::unique_ptr<Engine>> MakeEngine(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    const LoaderGpuSettings& gpu, const feedrate_pinning* pinning) {
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
  LoaderGpuSettings gpu;
  gpu.device = opened->gpu = static_cast<int>(settings.Integer("gpu"));
  gpu.nvjpeg = settings.Text("nvjpeg");
  if (gpu.device >= 0 && make_gpu_engine == nullptr) {
    return absl::FailedPreconditionError(
        "device=\"cuda\": this feedrate was built without CUDA; take a wheel "
        "with it, in a checkout run dev/bazel.sh build --config=cuda "
        "//lib/loader/python:feedrate_loader, or pass device=\"cpu\"");
  }
  ASSIGN_OR_RETURN(opened->options, OptionsOf(&settings, gpu.device >= 0));
  std::unique_ptr<Source> given;
  if (array != nullptr) {
    given = ArraySource(array->data, array->count, array->height, array->width,
                        array->channels);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                   OpenSource(&settings, files, std::move(given)));
  // A caller that waits for a store itself could not be interrupted.
  if (source->remote() != nullptr && gpu.device < 0) {
    opened->options.workers = std::max(1, opened->options.workers);
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
