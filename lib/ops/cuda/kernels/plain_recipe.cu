// Crop or resized window, flip and normalization: bytes in, planes out.
#include <algorithm>

#include "lib/ops/cuda/kernels/recipe.cuh"
#include "lib/ops/cuda/kernels/resampling.cuh"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 256;
// How a window is resized: the most threads of a block, how many blocks a
// multiprocessor should hold, and rows of the output per block. The values were
// the fastest of some that were tried: docs/gpu_results.md.
struct Shape {
  int threads;
  int blocks;
  int rows;
};
constexpr Shape kBilinear = {256, 8, 8};
constexpr Shape kAntialias = {512, 3, 28};
// Rows of the window in shared memory.
constexpr int kSumRows = 22;

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

__device__ __forceinline__ float Normal(const RecipeArgs& args, int c,
                                        float level) {
  constexpr float kScale = 1.0f / 255;
  return level * (args.gain[c] * kScale) + args.bias[c];
}

__device__ __forceinline__ void Normalize(const RecipeArgs& args,
                                          const Window& erase, int y, int x,
                                          float values[3][4]) {
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    values[i / 4][i % 4] = Normal(args, i / 4, values[i / 4][i % 4]);
  }
  if (erase.height == 0) return;
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    if (Inside(erase, y, x + i % 4)) values[i / 4][i % 4] = 0;
  }
}

// Pixels x to x + 3 of row y.
__device__ __forceinline__ void ReadQuad(const RecipeArgs& args,
                                         const Source& source, int y, int x,
                                         float values[3][4]) {
  uint32_t p[4];
  CropQuad(source.image, source.recipe, args.width, y, x,
           source.inside && x + 4 <= args.width, p);
#pragma unroll
  for (int i = 0; i < 12; ++i) values[i % 3][i / 3] = ByteOf(p[i / 3], i % 3);
  Normalize(args, source.recipe.erase, y, x, values);
}

template <typename T, bool kMix>
__global__ __launch_bounds__(kThreads) void CropKernel(RecipeArgs args) {
  const int index = blockIdx.y;
  const int quad = blockIdx.x * kThreads + threadIdx.x;
  if (quad >= args.height * args.quads_per_row) return;
  const int y = quad / args.quads_per_row;
  const int x = (quad - y * args.quads_per_row) * 4;
  const Source own = SourceOf(args, index);
  float values[3][4];
  ReadQuad(args, own, y, x, values);
  if (kMix && own.recipe.mix.partner >= 0) {
    float others[3][4];
    ReadQuad(args, SourceOf(args, own.recipe.mix.partner), y, x, others);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float part = OwnPart(own.recipe.mix, y, x + k);
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        values[c][k] = part * values[c][k] + (1 - part) * others[c][k];
      }
    }
  }
  StoreColors<T>(args, index, y, x, values);
}

// The part of an image that a block makes.
__device__ __forceinline__ Part PartOf(const RecipeArgs& args, int rows,
                                       int columns) {
  const int first = blockIdx.x * rows;
  const int left = blockIdx.z * columns;
  return {first, min(first + rows, args.height), left,
          min(columns, args.width - left)};
}

template <typename T>
__global__ __launch_bounds__(
    kBilinear.threads, kBilinear.blocks) void BilinearKernel(RecipeArgs args,
                                                             int columns) {
  const int index = blockIdx.y;
  const Recipe recipe = args.recipes[index];
  const PixelOutput<T> out(args, index);
  ForBilinear(ResizedOf(args, args.images[index], recipe),
              PartOf(args, kBilinear.rows, columns),
              [&](int y, int x, const float levels[3]) {
                float v[3];
#pragma unroll
                for (int c = 0; c < 3; ++c) v[c] = Normal(args, c, levels[c]);
                if (recipe.erase.height > 0 && Inside(recipe.erase, y, x)) {
                  v[0] = v[1] = v[2] = 0;
                }
                out.Store(y, x, v);
              });
}

template <typename T>
__global__ __launch_bounds__(
    kAntialias.threads, kAntialias.blocks) void AntialiasKernel(RecipeArgs args,
                                                                int columns) {
  extern __shared__ float4 shared[];
  const int index = blockIdx.y;
  const Recipe recipe = args.recipes[index];
  ForAntialiased(ResizedOf(args, args.images[index], recipe),
                 PartOf(args, kAntialias.rows, columns), kSumRows,
                 reinterpret_cast<float*>(shared),
                 [&](int y, int x, float v[3][4]) {
#pragma unroll
                   for (int i = 0; i < 12; ++i) {
                     v[i / 4][i % 4] = RoundedLevel(v[i / 4][i % 4]);
                   }
                   Normalize(args, recipe.erase, y, x, v);
                   StoreColors<T>(args, index, y, x, v);
                 });
}

template <typename T>
cudaError_t LaunchCrop(const RecipeBatch& batch, cudaStream_t stream) {
  const RecipeArgs args = ArgsOf(batch);
  const int quads = args.height * args.quads_per_row;
  const dim3 grid((quads + kThreads - 1) / kThreads, batch.count);
  if (batch.mixes) {
    CropKernel<T, true><<<grid, kThreads, 0, stream>>>(args);
  } else {
    CropKernel<T, false><<<grid, kThreads, 0, stream>>>(args);
  }
  return cudaGetLastError();
}

template <typename T>
cudaError_t LaunchResized(const RecipeBatch& batch, cudaStream_t stream) {
  const RecipeArgs args = ArgsOf(batch);
  const bool is_bilinear = batch.sampling == Sampling::kBilinear;
  const Shape shape = is_bilinear ? kBilinear : kAntialias;
  // A thread per column: whole rows of them, or a part of one.
  const int columns = std::min(batch.width, shape.threads);
  const int threads = (shape.threads / columns * columns + 31) / 32 * 32;
  const dim3 grid((batch.height + shape.rows - 1) / shape.rows, batch.count,
                  (batch.width + columns - 1) / columns);
  if (is_bilinear) {
    BilinearKernel<T><<<grid, threads, 0, stream>>>(args, columns);
    return cudaGetLastError();
  }
  const size_t bytes = BytesOfSums(columns) * kSumRows;
  const cudaError_t error = cudaFuncSetAttribute(
      reinterpret_cast<const void*>(AntialiasKernel<T>),
      cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error != cudaSuccess) return error;
  AntialiasKernel<T><<<grid, threads, bytes, stream>>>(args, columns);
  return cudaGetLastError();
}

template <typename T>
cudaError_t LaunchFor(const RecipeBatch& batch, cudaStream_t stream) {
  return batch.sampling == Sampling::kCrop ? LaunchCrop<T>(batch, stream)
                                           : LaunchResized<T>(batch, stream);
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
  const bool plain = !batch.colors && !batch.thirds &&
                     (batch.sampling == Sampling::kCrop || !batch.mixes);
  return plain ? RunPlainRecipe(batch, stream) : RunStagedRecipe(batch, stream);
}

}  // namespace feedrate::fused
