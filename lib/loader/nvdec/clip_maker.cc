#include "lib/loader/nvdec/clip_maker.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/cuda/batch.h"
#include "lib/adapters/cuda/device_memory.h"
#include "lib/adapters/cuda/recipe.h"
#include "lib/adapters/cuda/recipe_batch.h"
#include "lib/adapters/worker/params.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using fused::ByteImage;
using fused::Recipe;

// Kernels read whole words around an image.
constexpr int64_t kSlack = 16;

double SecondsSince(int64_t start_ns) {
  return static_cast<double>(MonotonicNs() - start_ns) * 1e-9;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClipMaker>> ClipMaker::Create(
    const GpuRecipe& recipe) {
  ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
  std::unique_ptr<ClipMaker> maker =
      absl::WrapUnique(new ClipMaker(recipe, std::move(stream)));
  ASSIGN_OR_RETURN(maker->reader_, NvdecReader::Create(maker->stream_.get()));
  return maker;
}

absl::Status ClipMaker::Decode(const SourceFile& file) {
  ASSIGN_OR_RETURN(info_, reader_->Open(file.path));
  const auto frames = static_cast<int64_t>(file.frames.size());
  RETURN_IF_ERROR(frames_.Reserve(frames * FrameBytesOf(info_) + kSlack));
  return reader_->Read(file.frames, frames_.data());
}

absl::Status ClipMaker::Launch(int frames, Random random, float* out) {
  const auto bytes =
      static_cast<int64_t>(frames * (sizeof(ByteImage) + sizeof(Recipe)));
  RETURN_IF_ERROR(host_heads_.Reserve(bytes));
  RETURN_IF_ERROR(heads_.Reserve(bytes));
  // One draw: all frames of a clip are changed in the same way.
  const Recipe drawn = recipe_.Draw({info_.height, info_.width}, &random);
  auto* const images = reinterpret_cast<ByteImage*>(host_heads_.data());
  auto* const recipes = reinterpret_cast<Recipe*>(images + frames);
  for (int i = 0; i < frames; ++i) {
    images[i] = {frames_.data() + i * FrameBytesOf(info_), info_.height,
                 info_.width, int64_t{3} * info_.width};
    recipes[i] = drawn;
  }
  RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(heads_.data(), host_heads_.data(), bytes,
                                 cudaMemcpyHostToDevice, stream_.get()),
                 "cudaMemcpyAsync"));
  fused::RecipeBatch batch = recipe_.batch();
  batch.images = reinterpret_cast<const ByteImage*>(heads_.data());
  batch.recipes = reinterpret_cast<const Recipe*>(batch.images + frames);
  batch.count = frames;
  batch.out = out;
  RETURN_IF_ERROR(
      CudaStatus(RunRecipe(batch, stream_.get()), "the recipe's launch"));
  return CudaStatus(cudaStreamSynchronize(stream_.get()), "the recipe");
}

absl::Status ClipMaker::Make(const SourceFile& file, Random random,
                             float* out) {
  const int64_t start = MonotonicNs();
  const absl::Status decoded = Decode(file);
  times_.decode_s += SecondsSince(start);
  RETURN_IF_ERROR(decoded);
  const int64_t launched = MonotonicNs();
  const absl::Status made =
      Launch(static_cast<int>(file.frames.size()), random, out);
  times_.augment_s += SecondsSince(launched);
  return made;
}

}  // namespace feedrate
