// Crop, flip and normalization: bytes in, planes out. The copy rate is the
// limit, so a thread has several reads in flight before it writes.
#include "lib/adapters/cuda/kernels/recipe.cuh"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 256;

struct Source {
  ByteImage image;
  Recipe recipe;
  bool inside;
};

__device__ __forceinline__ Source SourceOf(const RecipeArgs& args, int index) {
  Source source;
  source.image = args.images[index];
  source.recipe = args.recipes[index];
  source.inside = IsInside(source.recipe.window, source.image);
  return source;
}

__device__ __forceinline__ void ReadQuad(const RecipeArgs& args,
                                         const Source& source, int y, int x,
                                         uint32_t p[4]) {
  CropQuad(source.image, source.recipe, args.width, y, x,
           source.inside && x + 4 <= args.width, p);
}

__device__ __forceinline__ void Normalised(const RecipeArgs& args,
                                           const Window& erase, int y, int x,
                                           const uint32_t p[4],
                                           float values[3][4]) {
  constexpr float kScale = 1.0f / 255;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const bool erased = Inside(erase, y, x + k);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float value =
          ByteOf(p[k], c) * (args.gain[c] * kScale) + args.bias[c];
      values[c][k] = erased ? 0 : value;
    }
  }
}

template <typename T, bool kMix, int kQuads>
__global__ __launch_bounds__(kThreads) void PlainKernel(RecipeArgs args) {
  const int index = blockIdx.y;
  const Source own = SourceOf(args, index);
  const int quads = args.height * args.quads_per_row;
  const int first = blockIdx.x * kThreads * kQuads + threadIdx.x;
  const bool mixed = kMix && own.recipe.mix.partner >= 0;
  Source other = own;
  if (mixed) other = SourceOf(args, own.recipe.mix.partner);
  uint32_t p[kQuads][4];
  uint32_t q[kQuads][4];
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    const int quad = first + i * kThreads;
    if (quad >= quads) break;
    const int y = quad / args.quads_per_row;
    const int x = (quad - y * args.quads_per_row) * 4;
    ReadQuad(args, own, y, x, p[i]);
    if (mixed) ReadQuad(args, other, y, x, q[i]);
  }
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    const int quad = first + i * kThreads;
    if (quad >= quads) break;
    const int y = quad / args.quads_per_row;
    const int x = (quad - y * args.quads_per_row) * 4;
    float values[3][4];
    Normalised(args, own.recipe.erase, y, x, p[i], values);
    if (mixed) {
      float others[3][4];
      Normalised(args, other.recipe.erase, y, x, q[i], others);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float part = OwnPart(own.recipe.mix, y, x + k);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          values[c][k] = part * values[c][k] + (1 - part) * others[c][k];
        }
      }
    }
    StoreColours<T>(args, index, y, x, values);
  }
}

template <typename T, bool kMix, int kQuads>
cudaError_t Launch(const RecipeBatch& batch, cudaStream_t stream) {
  const RecipeArgs args = ArgsOf(batch);
  const int quads = args.height * args.quads_per_row;
  const int per_block = kThreads * kQuads;
  const dim3 grid((quads + per_block - 1) / per_block, batch.count);
  PlainKernel<T, kMix, kQuads><<<grid, kThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

template <typename T>
cudaError_t LaunchFor(const RecipeBatch& batch, cudaStream_t stream) {
  if (batch.mixes) return Launch<T, true, 2>(batch, stream);
  switch (batch.quads_per_thread) {
    case 1:
      return Launch<T, false, 1>(batch, stream);
    case 2:
      return Launch<T, false, 2>(batch, stream);
    case 4:
      return Launch<T, false, 4>(batch, stream);
    case 7:
      return Launch<T, false, 7>(batch, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t RunPlainRecipe(const RecipeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  switch (batch.element) {
    case Element::kFloat32:
      return LaunchFor<float>(batch, stream);
    case Element::kFloat16:
      return LaunchFor<__half>(batch, stream);
    case Element::kBfloat16:
      return LaunchFor<__nv_bfloat16>(batch, stream);
    case Element::kUint8:
      return LaunchFor<uint8_t>(batch, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t RunRecipe(const RecipeBatch& batch, cudaStream_t stream) {
  const bool plain =
      batch.sampling == Sampling::kCrop && !batch.colours && !batch.thirds;
  return plain ? RunPlainRecipe(batch, stream) : RunStagedRecipe(batch, stream);
}

}  // namespace feedrate::fused
