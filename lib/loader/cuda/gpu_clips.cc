#include "lib/loader/cuda/gpu_clips.h"

#include <cuda_runtime_api.h>

#include "absl/memory/memory.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/cuda/kernels/recipe.h"

namespace feedrate {
namespace {

using fused::ByteImage;

// Kernels read whole words around an image.
constexpr int64_t kSlack = 16;

double SecondsSince(int64_t start_ns) {
  return static_cast<double>(MonotonicNs() - start_ns) * 1e-9;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GpuClipMaker>> GpuClipMaker::Create(
    const GpuRecipe& recipe, const MakeClipReader& make_reader) {
  ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
  std::unique_ptr<GpuClipMaker> maker =
      absl::WrapUnique(new GpuClipMaker(recipe, std::move(stream)));
  ASSIGN_OR_RETURN(maker->reader_, make_reader(maker->stream_.get()));
  return maker;
}

absl::StatusOr<VideoInfo> GpuClipMaker::Open(const VideoPlace& video) {
  const int64_t start = MonotonicNs();
  absl::StatusOr<VideoInfo> opened = reader_->Open(video);
  if (opened.ok()) info_ = *opened;
  times_.decode_s += SecondsSince(start);
  return opened;
}

absl::Status GpuClipMaker::Launch(int frames, Random random, void* out,
                                  int place) {
  const auto bytes = static_cast<int64_t>(
      frames * (sizeof(ByteImage) + sizeof(fused::Recipe) + sizeof(int)));
  RETURN_IF_ERROR(host_heads_.Reserve(bytes));
  RETURN_IF_ERROR(heads_.Reserve(bytes));
  // One draw: all frames of a clip are changed in the same way.
  const fused::Recipe drawn =
      recipe_.Draw({info_.height, info_.width}, &random);
  auto* const images = reinterpret_cast<ByteImage*>(host_heads_.data());
  auto* const recipes = reinterpret_cast<fused::Recipe*>(images + frames);
  auto* const places = reinterpret_cast<int*>(recipes + frames);
  for (int i = 0; i < frames; ++i) {
    images[i] = {frames_.data() + i * FrameBytesOf(info_), info_.height,
                 info_.width, int64_t{3} * info_.width};
    recipes[i] = drawn;
    places[i] = place * frames + i;
  }
  RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(heads_.data(), host_heads_.data(), bytes,
                                 cudaMemcpyHostToDevice, stream_.get()),
                 "cudaMemcpyAsync"));
  fused::RecipeBatch batch = recipe_.batch();
  batch.images = reinterpret_cast<const ByteImage*>(heads_.data());
  batch.recipes = reinterpret_cast<const fused::Recipe*>(batch.images + frames);
  batch.places = reinterpret_cast<const int*>(batch.recipes + frames);
  batch.count = frames;
  batch.out = out;
  RETURN_IF_ERROR(
      CudaStatus(RunRecipe(batch, stream_.get()), "the recipe's launch"));
  const int64_t waits = MonotonicNs();
  const cudaError_t done = cudaStreamSynchronize(stream_.get());
  times_.sync_s += SecondsSince(waits);
  return CudaStatus(done, "the recipe");
}

absl::Status GpuClipMaker::Make(const std::vector<int64_t>& frames,
                                Random random, void* batch, int place) {
  const int64_t start = MonotonicNs();
  const auto count = static_cast<int64_t>(frames.size());
  RETURN_IF_ERROR(frames_.Reserve(count * FrameBytesOf(info_) + kSlack));
  const absl::Status decoded = reader_->Read(frames, frames_.data());
  times_.decode_s += SecondsSince(start);
  RETURN_IF_ERROR(decoded);
  const int64_t launched = MonotonicNs();
  const absl::Status made =
      Launch(static_cast<int>(count), random, batch, place);
  times_.augment_s += SecondsSince(launched);
  return made;
}

namespace {

// Faults of the file; anything else affects every file, which Internal says to
// the loader.
absl::Status FaultOrInternal(const absl::Status& status) {
  if (status.ok() || absl::IsInvalidArgument(status) ||
      absl::IsNotFound(status) || absl::IsPermissionDenied(status)) {
    return status;
  }
  return absl::InternalError(status.message());
}

class GpuItemMaker : public ItemMaker {
 public:
  GpuItemMaker(const ClipSet& set, std::shared_ptr<const GpuRecipe> recipe,
               int device, MakeClipReader make_reader)
      : set_(set),
        recipe_(std::move(recipe)),
        device_(device),
        make_reader_(std::move(make_reader)) {}
  ~GpuItemMaker() override {
    const OnDevice on(device_);
    maker_ = nullptr;
  }

  absl::Status Make(int64_t item, uint64_t seed, absl::string_view bytes,
                    void* batch, int place) override {
    const OnDevice on(device_);
    // By the thread that works with it.
    if (maker_ == nullptr) {
      auto made = GpuClipMaker::Create(*recipe_, make_reader_);
      if (!made.ok()) return absl::InternalError(made.status().message());
      maker_ = *std::move(made);
    }
    const absl::Status made = MakeClip(item, seed, bytes, batch, place);
    // The bytes of others are gone with the next call.
    if (!made.ok() || !set_.in_memory()) video_ = -1;
    return FaultOrInternal(made);
  }

 private:
  absl::Status MakeClip(int64_t item, uint64_t seed, absl::string_view bytes,
                        void* batch, int place) {
    const int64_t video = set_.VideoOf(item);
    // Clips of a video often follow each other.
    if (video != video_) {
      video_ = -1;
      ASSIGN_OR_RETURN(const VideoInfo info,
                       maker_->Open(set_.PlaceOfVideo(video, bytes)));
      known_ = {info.frames, {}};
      if (set_.needs_times()) {
        ASSIGN_OR_RETURN(known_.times, maker_->Times());
      }
      video_ = video;
    }
    Random random(seed);
    // On the CPU the first draw seeds OpenCV's own generator.
    random.Next();
    return maker_->Make(set_.FramesOf(item, seed, known_), random, batch,
                        place);
  }

  const ClipSet& set_;
  const std::shared_ptr<const GpuRecipe> recipe_;
  const int device_;
  const MakeClipReader make_reader_;
  std::unique_ptr<GpuClipMaker> maker_;
  // The open video; -1 if none is.
  int64_t video_ = -1;
  ClipVideo known_;
};

}  // namespace

absl::StatusOr<std::function<std::unique_ptr<ItemMaker>(const ClipSet& set)>>
ClipsOnGpu(GpuRecipe recipe, const MakeClipReader& make_reader) {
  auto shared = std::make_shared<const GpuRecipe>(std::move(recipe));
  int device = 0;
  RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&device), "cudaGetDevice"));
  // What is missing is told before the first batch.
  RETURN_IF_ERROR(GpuClipMaker::Create(*shared, make_reader).status());
  return [shared, device, make_reader](const ClipSet& set) {
    return std::make_unique<GpuItemMaker>(set, shared, device, make_reader);
  };
}

}  // namespace feedrate
