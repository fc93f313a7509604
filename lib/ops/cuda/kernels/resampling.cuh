// Windows of images resized to the output, by bilinear interpolation with and
// without antialiasing. Only for kernels.
#pragma once

#include "lib/ops/cuda/kernels/recipe.cuh"
#include "lib/ops/cuda/kernels/warp_math.h"

namespace feedrate::fused {

// A window that is resized. Positions of bytes count from an aligned word.
struct Resized {
  const uint32_t* words;
  uint32_t start;   // Of the window.
  uint32_t stride;  // From one row to the next.
  Window window;
  int image_width;
  int flip;
  int height;  // Of the output.
  int width;
  float step_y;
  float step_x;
};

__device__ __forceinline__ Resized ResizedOf(const RecipeArgs& args,
                                             const ByteImage& image,
                                             const Recipe& recipe) {
  const Words words = WordsOf(image.data);
  const Window& window = recipe.window;
  return {words.words,
          static_cast<uint32_t>(words.start + window.top * image.stride +
                                window.left * 3),
          static_cast<uint32_t>(image.stride),
          window,
          image.width,
          recipe.flip,
          args.height,
          args.width,
          static_cast<float>(window.height) * args.inverse_height,
          static_cast<float>(window.width) * args.inverse_width};
}

// Column of the window that column `x` of the output is read from.
__device__ __forceinline__ int ReadColumn(const Resized& from, int x) {
  return from.flip ? from.width - 1 - x : x;
}

// A part of the output: rows first to last - 1, columns left to left + columns
// - 1. `left` is a multiple of four.
struct Part {
  int first;
  int last;
  int left;
  int columns;
};

// Position of output pixel `i` on a line of `size` pixels: between pixels first
// and first + 1, all of the weight on the second at the end of the line.
struct LinePlace {
  int first;
  float second;  // Weight of the second pixel.
};

__device__ __forceinline__ LinePlace PlaceOn(int size, float step, int i) {
  const float at =
      Clamp(ResizedFrom(i, step), 0.0f, static_cast<float>(size - 1));
  const int first = min(static_cast<int>(at), max(size - 2, 0));
  return {first, at - static_cast<float>(first)};
}

// Sum of four bytes times four weights, in kWhole-ths of a level.
__device__ __forceinline__ uint32_t Dot(uint32_t bytes, uint32_t low,
                                        uint32_t high, uint32_t sum) {
  return __dp2a_hi(high, bytes, __dp2a_lo(low, bytes, sum));
}

// The most rows that a block prepares at once.
constexpr int kMostAtOnce = 32;

// The two rows that a row of the output is interpolated between: positions from
// the first row of the window on, and weights.
struct RowPair {
  uint32_t upper;
  uint32_t lower;
  float upper_weight;
  float lower_weight;
};

__device__ __forceinline__ RowPair RowPairOf(const Resized& from, int y) {
  const LinePlace row = PlaceOn(from.window.height, from.step_y, y);
  const uint32_t upper = row.first * from.stride;
  return {upper, from.window.height > 1 ? upper + from.stride : upper,
          (1 - row.second) * (1 / kWhole), row.second * (1 / kWhole)};
}

// Column x of some rows: every `every`th from `start` on, `rows` in all, of
// which `top` is the first. kPairs: the image is wider than one pixel.
template <bool kPairs, typename Emit>
__device__ __forceinline__ void BilinearColumn(const Resized& from,
                                               const RowPair* pairs, int x,
                                               int top, int start, int every,
                                               int rows, Emit emit) {
  const LinePlace place =
      PlaceOn(from.window.width, from.step_x, ReadColumn(from, x));
  // A window of one pixel may be the last of a row; two pixels are read.
  const int column =
      kPairs ? min(place.first, from.image_width - 2 - from.window.left) : 0;
  const float second = column < place.first ? 1 : place.second;
  const uint32_t weights = PackWeights(1 - second, second);
  const uint32_t at = from.start + 3 * column;
#pragma unroll 2
  for (int row = start; row < rows; row += every) {
    const RowPair pair = pairs[row];
    const auto load = [&](uint32_t offset) {
      return kPairs ? LoadPairAt(from.words, at + offset)
                    : LoadPixelAt(from.words, at + offset);
    };
    float upper[3];
    float lower[3];
    Interpolate(load(pair.upper), weights, upper);
    Interpolate(load(pair.lower), weights, lower);
    float levels[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      levels[c] = RoundedLevel(upper[c] * pair.upper_weight +
                               lower[c] * pair.lower_weight);
    }
    emit(top + row, x, levels);
  }
}

// Calls emit(y, x, levels) for each pixel of a part, by bilinear interpolation.
// All threads of the block must call it. REQUIRES: there are as many threads as
// columns.
template <typename Emit>
__device__ __forceinline__ void ForBilinear(const Resized& from,
                                            const Part& part, Emit emit) {
  __shared__ RowPair pairs[kMostAtOnce];
  // Threads with the same column make every nth row.
  const int every = blockDim.x / part.columns;
  const int start = threadIdx.x / part.columns;
  const int x = part.left + threadIdx.x - start * part.columns;
  for (int top = part.first; top < part.last; top += kMostAtOnce) {
    const int rows = min(part.last - top, kMostAtOnce);
    if (threadIdx.x < rows) {
      pairs[threadIdx.x] = RowPairOf(from, top + threadIdx.x);
    }
    __syncthreads();
    if (start < every && from.image_width > 1) {
      BilinearColumn<true>(from, pairs, x, top, start, every, rows, emit);
    } else if (start < every) {
      BilinearColumn<false>(from, pairs, x, top, start, every, rows, emit);
    }
    __syncthreads();
  }
}

// Antialiased resizing takes two passes: first the rows of the window become as
// wide as the output, then they are summed.
__device__ __forceinline__ Taps RowTaps(const Resized& from, int y) {
  return AntialiasTaps(y, from.step_y, from.window.height);
}

__device__ __forceinline__ Taps ColumnTaps(const Resized& from, int column) {
  return AntialiasTaps(ReadColumn(from, column), from.step_x,
                       from.window.width);
}

// Sums are rows of a window in shared memory, as wide as a part of the output,
// in planes, in kWhole-ths of a level.

// What a thread needs to make a column of sums. With kQuads, all taps are among
// 4 * kQuads pixels from `at` on; with 0 there may be any number of them.
template <int kQuads>
struct SumColumn {
  uint32_t at;  // In the first row of the window.
  uint32_t weights[2 * kQuads + 1];
  Taps taps;
  float scale;
};

template <int kQuads>
__device__ __forceinline__ SumColumn<kQuads> SumColumnOf(const Resized& from,
                                                         int column) {
  SumColumn<kQuads> result;
  result.taps = ColumnTaps(from, column);
  const int wanted = result.taps.first;
  const int last = from.image_width - from.window.left - 4 * kQuads;
  const int at = kQuads == 0 ? wanted : min(wanted, last);
  result.at = from.start + at * 3;
  if (kQuads == 0) {
    result.scale = kWhole / TapSum(result.taps);
    return result;
  }
  float weights[4 * kQuads + 1];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4 * kQuads; ++k) {
    const int tap = at + k - wanted;
    const float weight = TapWeight(result.taps, tap);
    weights[k] =
        static_cast<uint32_t>(tap) < static_cast<uint32_t>(result.taps.count)
            ? weight
            : 0;
    sum += weights[k];
  }
  const float scale = 1 / sum;
#pragma unroll
  for (int k = 0; k < 2 * kQuads; ++k) {
    result.weights[k] =
        PackWeights(weights[2 * k] * scale, weights[2 * k + 1] * scale);
  }
  return result;
}

template <int kQuads>
__device__ __forceinline__ void SumOf(const SumColumn<kQuads>& column,
                                      const uint32_t* words, uint32_t at,
                                      float v[3]) {
  if (kQuads == 0) {
    for (int c = 0; c < 3; ++c) v[c] = 0;
    for (int k = 0; k < column.taps.count; ++k) {
      const uint32_t pixel = LoadPixelAt(words, at + 3 * k).low;
      const float weight = TapWeight(column.taps, k) * column.scale;
#pragma unroll
      for (int c = 0; c < 3; ++c) v[c] += weight * ByteOf(pixel, c);
    }
    return;
  }
  uint32_t sums[3] = {0, 0, 0};
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const Quad quad = LoadQuadAt(words, at + 12 * q);
    const uint32_t* w = quad.words;
    const uint32_t colors[3] = {
        __byte_perm(__byte_perm(w[0], w[1], 0x0630), w[2], 0x5210),
        __byte_perm(__byte_perm(w[0], w[1], 0x0741), w[2], 0x6210),
        __byte_perm(__byte_perm(w[0], w[1], 0x0052), w[2], 0x7410)};
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      sums[c] = Dot(colors[c], column.weights[2 * q], column.weights[2 * q + 1],
                    sums[c]);
    }
  }
#pragma unroll
  for (int c = 0; c < 3; ++c) v[c] = static_cast<float>(sums[c]);
}

// A row of the output: its taps are `first` to first + count - 1 of the sums,
// with weights 1 - |base + k * inverse| times `scale`.
struct RowPlan {
  float base;
  float scale;
  int first;
  int count;
};

__device__ __forceinline__ RowPlan RowPlanOf(const Resized& from, int y,
                                             int first) {
  const Taps taps = RowTaps(from, y);
  return {(static_cast<float>(taps.first) - taps.center + 0.5f) * taps.inverse,
          1 / (kWhole * TapSum(taps)), taps.first - first, taps.count};
}

// Columns x to x + 3 of an output row, in levels, not rounded. `at` is column x
// of the first of the sums.
__device__ __forceinline__ void SumRows(const RowPlan& plan, float inverse,
                                        const float* at, int pitch,
                                        float v[3][4]) {
#pragma unroll
  for (int i = 0; i < 12; ++i) v[i / 4][i % 4] = 0;
  at += plan.first * 3 * pitch;
  float place = plan.base;
  for (int k = 0; k < plan.count; ++k) {
    const float weight = fmaxf(1 - fabsf(place), 0.0f) * plan.scale;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const auto four = *reinterpret_cast<const float4*>(at + c * pitch);
      v[c][0] += weight * four.x;
      v[c][1] += weight * four.y;
      v[c][2] += weight * four.z;
      v[c][3] += weight * four.w;
    }
    place += inverse;
    at += 3 * pitch;
  }
}

// Four pixels by themselves, where no row fits into shared memory.
__device__ __forceinline__ void SumPixels(const Resized& from, const Taps& rows,
                                          int x, float v[3][4]) {
  for (int p = 0; p < 4; ++p) {
    for (int c = 0; c < 3; ++c) v[c][p] = 0;
    if (x + p >= from.width) continue;
    const Taps columns = ColumnTaps(from, x + p);
    const float scale = 1 / (TapSum(rows) * TapSum(columns));
    uint32_t line = from.start + rows.first * from.stride + columns.first * 3;
    for (int i = 0; i < rows.count; ++i) {
      const float row_weight = TapWeight(rows, i) * scale;
      for (int j = 0; j < columns.count; ++j) {
        const uint32_t pixel = LoadPixelAt(from.words, line + 3 * j).low;
        const float weight = row_weight * TapWeight(columns, j);
        for (int c = 0; c < 3; ++c) v[c][p] += weight * ByteOf(pixel, c);
      }
      line += from.stride;
    }
  }
}

// Calls emit(y, x, levels) for each group of four columns in the part. `values`
// is shared memory for `capacity` rows of sums. All threads of the block must
// call it. REQUIRES: there are as many threads as columns.
template <int kQuads, typename Emit>
__device__ __forceinline__ void ForAntialiasedWith(const Resized& from,
                                                   const Part& part,
                                                   int capacity, float* values,
                                                   Emit emit) {
  __shared__ RowPlan plans[kMostAtOnce];
  const int pitch = (part.columns + 3) / 4 * 4;
  const int quads = pitch / 4;
  const int threads = blockDim.x;
  const float spare =
      static_cast<float>(capacity) - 2 * fmaxf(from.step_y, 1.0f) - 2;
  const int at_once =
      min(1 + static_cast<int>(spare / from.step_y), kMostAtOnce);
  const float inverse = 1 / fmaxf(from.step_y, 1.0f);
  // Threads with the same column make every nth row.
  const int every = threads / part.columns;
  const int start = threadIdx.x / part.columns;
  const int column = threadIdx.x - start * part.columns;
  const SumColumn<kQuads> own = SumColumnOf<kQuads>(from, part.left + column);
  const uint32_t next = every * from.stride;
  // What this thread reads: four neighboring columns (`quad`) of every
  // row_step-th row, from first_row on.
  const int first_row = threadIdx.x / quads;
  const int quad = threadIdx.x - first_row * quads;
  const int row_step = threads / quads;
  for (int top = part.first; top < part.last; top += at_once) {
    const int bottom = min(top + at_once, part.last);
    const Taps end = RowTaps(from, bottom - 1);
    const int first = RowTaps(from, top).first;
    const int rows = end.first + end.count - first;
    if (threadIdx.x < bottom - top) {
      plans[threadIdx.x] = RowPlanOf(from, top + threadIdx.x, first);
    }
    if (start < every) {
      uint32_t line = own.at + (first + start) * from.stride;
      float* to = values + start * 3 * pitch + column;
#pragma unroll 2
      for (int row = start; row < rows; row += every) {
        float v[3];
        SumOf(own, from.words, line, v);
#pragma unroll
        for (int c = 0; c < 3; ++c) to[c * pitch] = v[c];
        line += next;
        to += every * 3 * pitch;
      }
    }
    __syncthreads();
    if (first_row < row_step) {
      for (int row = first_row; row < bottom - top; row += row_step) {
        float v[3][4];
        SumRows(plans[row], inverse, values + 4 * quad, pitch, v);
        emit(top + row, part.left + 4 * quad, v);
      }
    }
    __syncthreads();
  }
}

template <typename Emit>
__device__ __forceinline__ void ForAntialiased(const Resized& from,
                                               const Part& part, int capacity,
                                               float* values, Emit emit) {
  // One tap more than the triangle is wide, at most.
  const float columns = 2 * fmaxf(from.step_x, 1.0f) + 1;
  if (2 * fmaxf(from.step_y, 1.0f) + 2 > static_cast<float>(capacity)) {
    const int quads = (part.columns + 3) / 4;
    for (int i = threadIdx.x; i < (part.last - part.first) * quads;
         i += blockDim.x) {
      const int row = i / quads;
      const int x = part.left + (i - row * quads) * 4;
      float v[3][4];
      SumPixels(from, RowTaps(from, part.first + row), x, v);
      emit(part.first + row, x, v);
    }
  } else if (columns < 5 && from.image_width >= 4) {
    ForAntialiasedWith<1>(from, part, capacity, values, emit);
  } else if (columns < 9 && from.image_width >= 8) {
    ForAntialiasedWith<2>(from, part, capacity, values, emit);
  } else {
    ForAntialiasedWith<0>(from, part, capacity, values, emit);
  }
}

// Bytes of a row of sums.
inline size_t BytesOfSums(int columns) {
  return sizeof(float) * 3 * ((columns + 3) / 4 * 4);
}

}  // namespace feedrate::fused
