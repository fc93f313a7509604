// The whole recipe. Contrast needs the mean of the image in the window, so the
// blocks of a cluster work together: each holds a strip of rows in shared
// memory, one word per pixel, and they exchange their sums.
#include <algorithm>

#include "lib/ops/cuda/kernels/blur_math.h"
#include "lib/ops/cuda/kernels/cluster.cuh"
#include "lib/ops/cuda/kernels/recipe.cuh"
#include "lib/ops/cuda/kernels/resampling.cuh"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 256;
// For antialiasing: the most rows of the window in shared memory.
constexpr int kSumRows = 16;
constexpr size_t kMostSharedBytes = 220 * 1024;
// Solarize threshold of ThreeAugment.
constexpr float kSolarizeFrom = 128;

// The rows of one block, with those that a blur needs above and below.
struct Strip {
  int first;  // Row of the output.
  int last;   // Exclusive.
  int top;    // Row at the start of the shared memory.
  int bottom;
};

// Fills rows strip.top to strip.bottom - 1 from the window. `sums` has room for
// `capacity` rows of ForAntialiased.
__device__ __forceinline__ void FillStage(const RecipeArgs& args,
                                          const ByteImage& image,
                                          const Recipe& recipe,
                                          const Strip& strip, int capacity,
                                          float* sums, uint32_t* stage) {
  const int width = args.width;
  const int rows = strip.bottom - strip.top;
  if (args.sampling == Sampling::kCrop) {
    const bool inside = IsInside(recipe.window, image);
    const int quads = rows * args.quads_per_row;
    for (int i = threadIdx.x; i < quads; i += kThreads) {
      const int y = i / args.quads_per_row;
      const int x = (i - y * args.quads_per_row) * 4;
      uint32_t p[4];
      CropQuad(image, recipe, width, strip.top + y, x, inside && x + 4 <= width,
               p);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (x + k < width) stage[y * width + x + k] = p[k];
      }
    }
    return;
  }
  const Resized from = ResizedOf(args, image, recipe);
  if (args.sampling == Sampling::kAntialias) {
    for (int left = 0; left < width; left += kThreads) {
      const Part part = {strip.top, strip.bottom, left,
                         min(kThreads, width - left)};
      ForAntialiased(from, part, capacity, sums,
                     [&](int y, int x, const float v[3][4]) {
#pragma unroll
                       for (int k = 0; k < 4; ++k) {
                         if (x + k < width) {
                           stage[(y - strip.top) * width + x + k] =
                               PackBytes(v[0][k], v[1][k], v[2][k]);
                         }
                       }
                     });
    }
    return;
  }
  for (int left = 0; left < width; left += kThreads) {
    const Part part = {strip.top, strip.bottom, left,
                       min(kThreads, width - left)};
    ForBilinear(from, part, [&](int y, int x, const float v[3]) {
      stage[(y - strip.top) * width + x] = PackLevels(v);
    });
  }
}

// Between the passes of a blur a pixel is three values of ten bits, in quarters
// of a level: as small as bytes, and practically rounded only once.
__device__ __forceinline__ uint32_t PackTens(const float v[3]) {
  uint32_t word = 0;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    word |= min(__float2uint_rn(v[c] * 4), 1020u) << (10 * c);
  }
  return word;
}

__device__ __forceinline__ void BlurStage(const RecipeArgs& args,
                                          const Recipe& recipe,
                                          const Strip& strip, uint32_t* stage,
                                          uint32_t* tens) {
  float weights[kMaxBlurRadius + 1];
  const int radius = recipe.radius > 0 ? recipe.radius : RadiusOf(recipe.sigma);
  GaussianWeights(recipe.sigma, radius, weights);
  const int width = args.width;
  const int rows = strip.bottom - strip.top;
  for (int i = threadIdx.x; i < rows * width; i += kThreads) {
    const int row = i / width;
    const int x = i - row * width;
    float v[3] = {0, 0, 0};
#pragma unroll
    for (int j = -kMaxBlurRadius; j <= kMaxBlurRadius; ++j) {
      if (j < -radius || j > radius) continue;
      const uint32_t pixel =
          stage[row * width + InsideOf(x + j, width, Edge::kReflect)];
      const float weight = weights[j < 0 ? -j : j];
#pragma unroll
      for (int c = 0; c < 3; ++c) v[c] += weight * ByteOf(pixel, c);
    }
    tens[i] = PackTens(v);
  }
  __syncthreads();
  const int start = (strip.first - strip.top) * width;
  for (int i = threadIdx.x; i < (strip.last - strip.first) * width;
       i += kThreads) {
    const int row = i / width;
    const int x = i - row * width;
    float v[3] = {0, 0, 0};
#pragma unroll
    for (int j = -kMaxBlurRadius; j <= kMaxBlurRadius; ++j) {
      if (j < -radius || j > radius) continue;
      const int y =
          InsideOf(strip.first + row + j, args.height, Edge::kReflect);
      const uint32_t word = tens[(y - strip.top) * width + x];
      const float weight = 0.25f * weights[j < 0 ? -j : j];
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        v[c] += weight * static_cast<float>(word >> (10 * c) & 1023);
      }
    }
    stage[start + i] = PackBytes(v[0], v[1], v[2]);
  }
}

__device__ __forceinline__ uint32_t ThirdOf(Third third, uint32_t pixel) {
  if (third == Third::kGrayscale) {
    const float gray = 255 * LumaOf(ColorOf(pixel));
    return PackBytes(gray, gray, gray);
  }
  uint32_t word = 0;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const auto value = static_cast<uint8_t>(pixel >> (8 * c));
    word |= ToneOf(value, Tone::kSolarize, kSolarizeFrom) << (8 * c);
  }
  return word;
}

// Fills the stage with window, flip and third of one image, and returns the
// center of its contrast.
__device__ float Prepare(const RecipeArgs& args, const ByteImage& image,
                         const Recipe& recipe, const Strip& strip, int capacity,
                         uint32_t* stage, uint32_t* tens, float* scratch) {
  // What a blur needs later is free here.
  FillStage(args, image, recipe, strip, capacity,
            reinterpret_cast<float*>(tens), stage);
  __syncthreads();
  uint32_t* own = stage + (strip.first - strip.top) * args.width;
  const int pixels = (strip.last - strip.first) * args.width;
  if (recipe.third == Third::kBlur) {
    BlurStage(args, recipe, strip, stage, tens);
    __syncthreads();
  } else if (recipe.third != Third::kNone) {
    for (int i = threadIdx.x; i < pixels; i += kThreads) {
      own[i] = ThirdOf(recipe.third, own[i]);
    }
    __syncthreads();
  }
  if (!HasContrast(recipe.jitter)) return 0;
  float sum = 0;
  for (int i = 4 * threadIdx.x; i < pixels; i += 4 * kThreads) {
    Rgb c[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      c[k] = ColorOf(i + k < pixels ? own[i + k] : 0);
    }
    ApplySteps(recipe.jitter, recipe.jitter.steps, kContrast, 0, c);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (i + k < pixels) sum += LumaOf(c[k]);
    }
  }
  return ClusterSum(sum, scratch) /
         (static_cast<float>(args.height) * static_cast<float>(args.width));
}

// Four pixels of the stage, jittered, normalized and erased.
__device__ __forceinline__ void FinishQuad(const RecipeArgs& args,
                                           const Recipe& recipe, float mean,
                                           const uint32_t* at, int y, int x,
                                           float values[3][4]) {
  Rgb c[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    c[k] = ColorOf(x + k < args.width ? at[k] : 0);
  }
  ApplySteps(recipe.jitter, recipe.jitter.steps, kNoStep, mean, c);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float rgb[3] = {c[k].r, c[k].g, c[k].b};
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      values[i][k] = rgb[i] * args.gain[i] + args.bias[i];
    }
  }
  if (recipe.erase.height == 0) return;
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    if (Inside(recipe.erase, y, x + i % 4)) values[i / 4][i % 4] = 0;
  }
}

__device__ __forceinline__ Strip StripOf(const RecipeArgs& args, int rows,
                                         int halo) {
  Strip strip;
  strip.first = min(static_cast<int>(blockIdx.x) * rows, args.height);
  strip.last = min(strip.first + rows, args.height);
  strip.top = max(0, strip.first - halo);
  strip.bottom = min(args.height, strip.last + halo);
  return strip;
}

// `rows` per block, `stage_words` of shared memory per image in it.
template <typename T, bool kMix>
__global__ __launch_bounds__(kThreads) void StagedKernel(RecipeArgs args,
                                                         int rows, int halo,
                                                         int stage_words,
                                                         int capacity) {
  extern __shared__ uint4 shared[];
  __shared__ float scratch[33];
  auto* stage = reinterpret_cast<uint32_t*>(shared);
  uint32_t* other_stage = stage + stage_words;
  uint32_t* tens = stage + (kMix ? 2 : 1) * stage_words;
  const int index = blockIdx.y;
  const Strip strip = StripOf(args, rows, halo);
  const Recipe recipe = args.recipes[index];
  const float mean = Prepare(args, args.images[index], recipe, strip, capacity,
                             stage, tens, scratch);
  const bool mixed = kMix && recipe.mix.partner >= 0;
  Recipe other = recipe;
  float other_mean = 0;
  if (mixed) {
    other = args.recipes[recipe.mix.partner];
    other_mean = Prepare(args, args.images[recipe.mix.partner], other, strip,
                         capacity, other_stage, tens, scratch);
  }
  const int quads = (strip.last - strip.first) * args.quads_per_row;
  for (int i = threadIdx.x; i < quads; i += kThreads) {
    const int row = i / args.quads_per_row;
    const int y = strip.first + row;
    const int x = (i - row * args.quads_per_row) * 4;
    const int at = (y - strip.top) * args.width + x;
    float values[3][4];
    FinishQuad(args, recipe, mean, stage + at, y, x, values);
    if (mixed) {
      float others[3][4];
      FinishQuad(args, other, other_mean, other_stage + at, y, x, others);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float part = OwnPart(recipe.mix, y, x + k);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
          values[c][k] = part * values[c][k] + (1 - part) * others[c][k];
        }
      }
    }
    StoreColors<T>(args, index, y, x, values);
  }
}

template <typename T, bool kMix>
cudaError_t Launch(const RecipeBatch& batch, cudaStream_t stream) {
  const int rows = (batch.height + kClusterBlocks - 1) / kClusterBlocks;
  const int halo = batch.thirds ? kMaxBlurRadius : 0;
  // A multiple of four, so that each stage starts at a multiple of 16 bytes.
  const int stage_words = ((rows + 2 * halo) * batch.width + 3) / 4 * 4;
  const size_t stage_bytes = sizeof(uint32_t) * stage_words;
  const size_t stages = stage_bytes * (kMix ? 2 : 1);
  size_t rest = batch.thirds ? stage_bytes : 0;
  int capacity = 0;
  if (batch.sampling == Sampling::kAntialias) {
    const size_t row = BytesOfSums(std::min(batch.width, kThreads));
    const size_t free = kMostSharedBytes - std::min(kMostSharedBytes, stages);
    capacity = static_cast<int>(std::min<size_t>(kSumRows, free / row));
    rest = std::max(rest, row * capacity);
  }
  return LaunchInClusters(StagedKernel<T, kMix>, batch.count, kThreads,
                          stages + rest, stream, ArgsOf(batch), rows, halo,
                          stage_words, capacity);
}

template <typename T>
cudaError_t LaunchFor(const RecipeBatch& batch, cudaStream_t stream) {
  return batch.mixes ? Launch<T, true>(batch, stream)
                     : Launch<T, false>(batch, stream);
}

}  // namespace

cudaError_t RunStagedRecipe(const RecipeBatch& batch, cudaStream_t stream) {
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

}  // namespace feedrate::fused
