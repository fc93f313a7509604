// What the recipe kernels share. Only for kernels.
#pragma once

#include "lib/ops/cuda/kernels/device_io.cuh"
#include "lib/ops/cuda/kernels/recipe.h"

namespace feedrate::fused {

// Passed by value. Normalization is value * gain + bias for values 0..1.
struct RecipeArgs {
  const ByteImage* images;
  const Recipe* recipes;
  void* out;
  const int* places;
  int height;
  int width;
  int quads_per_row;
  float inverse_height;
  float inverse_width;
  Sampling sampling;
  bool pixels;
  float gain[3];
  float bias[3];
};

inline RecipeArgs ArgsOf(const RecipeBatch& batch) {
  RecipeArgs args = {batch.images,
                     batch.recipes,
                     batch.out,
                     batch.places,
                     batch.height,
                     batch.width,
                     (batch.width + 3) / 4,
                     1.0f / static_cast<float>(batch.height),
                     1.0f / static_cast<float>(batch.width),
                     batch.sampling,
                     batch.pixels,
                     {},
                     {}};
  for (int c = 0; c < 3; ++c) {
    args.gain[c] = 1 / batch.std[c];
    args.bias[c] = -batch.mean[c] / batch.std[c];
  }
  return args;
}

__device__ __forceinline__ bool Inside(const Window& window, int y, int x) {
  return y >= window.top && y < window.top + window.height &&
         x >= window.left && x < window.left + window.width;
}

__device__ __forceinline__ bool IsInside(const Window& window,
                                         const ByteImage& image) {
  return window.top >= 0 && window.left >= 0 &&
         window.top + window.height <= image.height &&
         window.left + window.width <= image.width;
}

// One pixel of a crop, zero outside the image.
__device__ __forceinline__ uint32_t CropPixel(const ByteImage& image,
                                              const Recipe& recipe, int width,
                                              int y, int x) {
  const int row = recipe.window.top + y;
  const int column = recipe.window.left + (recipe.flip ? width - 1 - x : x);
  if (row < 0 || row >= image.height || column < 0 || column >= image.width) {
    return 0;
  }
  return LoadPixel(image.data + row * image.stride + column * 3);
}

// Pixels x to x + 3 of row y of a crop. `whole`: all are inside the window, and
// the window is inside the image.
__device__ __forceinline__ void CropQuad(const ByteImage& image,
                                         const Recipe& recipe, int width, int y,
                                         int x, bool whole, uint32_t p[4]) {
  if (!whole) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      p[k] = x + k < width ? CropPixel(image, recipe, width, y, x + k) : 0;
    }
    return;
  }
  const int column = recipe.window.left + (recipe.flip ? width - 4 - x : x);
  const Quad quad = LoadQuad(
      image.data + (recipe.window.top + y) * image.stride + column * 3);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const uint32_t forward = PixelOf(quad, k);
    const uint32_t backward = PixelOf(quad, 3 - k);
    p[k] = recipe.flip ? backward : forward;
  }
}

// Stores four pixels, from column x on, side by side.
template <typename T>
__device__ __forceinline__ void StoreInterleaved(const RecipeArgs& args, int x,
                                                 const float values[3][4],
                                                 T* at) {
  float row[12];
#pragma unroll
  for (int i = 0; i < 12; ++i) row[i] = values[i % 3][i / 3];
  if ((args.width & 3) == 0) {
#pragma unroll
    for (int i = 0; i < 12; i += 4) StoreFour(at + i, row + i);
    return;
  }
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    if (x + i / 3 < args.width) StoreOne(at + i, row[i]);
  }
}

// The output of image `index`.
template <typename T>
__device__ __forceinline__ T* OutputOf(const RecipeArgs& args, int index) {
  const int64_t place = args.places == nullptr ? index : args.places[index];
  return static_cast<T*>(args.out) + place * 3 * args.height * args.width;
}

// Where pixels of an output are stored one by one.
template <typename T>
struct PixelOutput {
  T* at;
  int pixel;  // From one column to the next,
  int row;    // one row to the next,
  int channel;

  __device__ PixelOutput(const RecipeArgs& args, int index)
      : at(OutputOf<T>(args, index)),
        pixel(args.pixels ? 3 : 1),
        row(args.width * pixel),
        channel(args.pixels ? 1 : args.height * args.width) {}

  __device__ void Store(int y, int x, const float values[3]) const {
    T* to = at + y * row + x * pixel;
#pragma unroll
    for (int c = 0; c < 3; ++c) StoreOne(to + c * channel, values[c]);
  }
};

// Stores four pixels of image `index` at its place in the output.
template <typename T>
__device__ __forceinline__ void StoreColors(const RecipeArgs& args, int index,
                                            int y, int x,
                                            const float values[3][4]) {
  const int64_t plane = static_cast<int64_t>(args.height) * args.width;
  T* out = OutputOf<T>(args, index);
  const int64_t start = static_cast<int64_t>(y) * args.width + x;
  if (args.pixels) return StoreInterleaved(args, x, values, out + start * 3);
  if ((args.width & 3) == 0) {
#pragma unroll
    for (int c = 0; c < 3; ++c) StoreFour(out + start + c * plane, values[c]);
    return;
  }
  for (int c = 0; c < 3; ++c) {
    for (int k = 0; k < 4 && x + k < args.width; ++k) {
      StoreOne(out + start + c * plane + k, values[c][k]);
    }
  }
}

}  // namespace feedrate::fused
