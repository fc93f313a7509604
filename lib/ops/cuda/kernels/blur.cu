// Separable Gaussian blur.
//
// Planes are done in strips: a thread owns four adjacent elements and walks
// down a strip of rows. It smooths each row horizontally as it arrives and
// keeps the last 2R + 1 of them in registers for vertical smoothing, so that
// only the rows between strips are read twice.
//
// Bytes are done in tiles, one per block: see blur_math.h. Compared with strips
// a thread needs a third of the registers, and a byte is converted to float two
// to four times instead of five to eleven.
#include <type_traits>

#include "lib/ops/cuda/kernels/blur_math.h"
#include "lib/ops/cuda/kernels/device_io.cuh"
#include "lib/ops/cuda/kernels/fused.h"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 128;
constexpr int kStripRows = 32;

// Kernels are compiled for each radius, which is known only at run time. Calls
// `launch` with the radius as a type that has a `value`, and returns its
// result.
template <typename Launch>
cudaError_t ForRadius(int radius, const Launch& launch) {
  switch (radius) {
    case 1:
      return launch(std::integral_constant<int, 1>());
    case 2:
      return launch(std::integral_constant<int, 2>());
    case 3:
      return launch(std::integral_constant<int, 3>());
    case 4:
      return launch(std::integral_constant<int, 4>());
    case 5:
      return launch(std::integral_constant<int, 5>());
    case 6:
      return launch(std::integral_constant<int, 6>());
    default:
      return cudaErrorInvalidValue;
  }
}

// Four elements of a row and their neighbors, a multiple of four on each side.
template <int kRadius>
struct Span {
  static constexpr int kPad = (kRadius + 3) / 4 * 4;
  static constexpr int kSize = 4 + 2 * kPad;
  float values[kSize];
};

// Fills in what lies beyond the border by mirroring the span. Only elements
// within the radius become correct; no others are used.
template <int kPad>
__device__ __forceinline__ void MirrorAtEdge(int at, int size, float* values) {
#pragma unroll
  for (int before = 0; before < kPad; before += 4) {
    if (at == before) {  // The row starts in the span.
#pragma unroll
      for (int j = 1; j <= kPad - before; ++j) {
        values[kPad - before - j] = values[kPad - before + j];
      }
    }
    if (at + 4 + before == size) {  // The row ends in the span.
#pragma unroll
      for (int j = 1; j <= kPad - before; ++j) {
        values[kPad + 3 + before + j] = values[kPad + 3 + before - j];
      }
    }
  }
}

template <int kRadius>
__device__ __forceinline__ void LoadPlaneSpan(const float* row, int at,
                                              int size, Span<kRadius>* span) {
  using S = Span<kRadius>;
#pragma unroll
  for (int i = 0; i < S::kSize / 4; ++i) {
    const int from = Clamp(at - S::kPad + 4 * i, 0, size - 4);
    const float4 quad = __ldg(reinterpret_cast<const float4*>(row + from));
    span->values[4 * i] = quad.x;
    span->values[4 * i + 1] = quad.y;
    span->values[4 * i + 2] = quad.z;
    span->values[4 * i + 3] = quad.w;
  }
  MirrorAtEdge<S::kPad>(at, size, span->values);
}

// Blurs four elements from `at` on of a plane, in the rows from `top` on.
template <int kRadius>
__device__ __forceinline__ void BlurStrip(const float* in, float* out,
                                          int height, int width, float sigma,
                                          int at, int top) {
  using S = Span<kRadius>;
  constexpr int kRows = 2 * kRadius + 1;
  float weights[kRadius + 1];
  GaussianWeights(sigma, kRadius, weights);
  float window[kRows][4];
  const int bottom = min(top + kStripRows, height);
  const auto row_of = [&](int y) {
    return in + InsideOf(y, height, Edge::kReflect) * width;
  };
  S next;
  LoadPlaneSpan<kRadius>(row_of(top - kRadius), at, width, &next);
  for (int y = top - kRadius; y < bottom + kRadius; ++y) {
    const S span = next;
    // In flight while this row is processed.
    if (y + 1 < bottom + kRadius) {
      LoadPlaneSpan<kRadius>(row_of(y + 1), at, width, &next);
    }
#pragma unroll
    for (int i = 0; i + 1 < kRows; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) window[i][k] = window[i + 1][k];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float sum = weights[0] * span.values[S::kPad + k];
#pragma unroll
      for (int j = 1; j <= kRadius; ++j) {
        sum += weights[j] *
               (span.values[S::kPad + k - j] + span.values[S::kPad + k + j]);
      }
      window[kRows - 1][k] = sum;
    }
    if (y - kRadius < top) continue;
    float v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      v[k] = weights[0] * window[kRadius][k];
#pragma unroll
      for (int j = 1; j <= kRadius; ++j) {
        v[k] += weights[j] * (window[kRadius - j][k] + window[kRadius + j][k]);
      }
    }
    StoreFour(out + (y - kRadius) * width + at, v);
  }
}

template <int kRadius>
__global__ __launch_bounds__(kThreads) void BlurPlanesKernel(
    const float* in, int height, int width, const float* sigmas, float* out) {
  const int quads = width / 4;
  const int strips = (height + kStripRows - 1) / kStripRows;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= strips * quads) return;
  const int64_t plane = static_cast<int64_t>(blockIdx.y) * height * width;
  BlurStrip<kRadius>(in + plane, out + plane, height, width,
                     sigmas[blockIdx.y / 3], i % quads * 4,
                     i / quads * kStripRows);
}

template <int kRadius>
cudaError_t LaunchPlanes(const Planes& in, const float* sigmas, float* out,
                         cudaStream_t stream) {
  const int strips = (in.height + kStripRows - 1) / kStripRows;
  const dim3 grid((strips * (in.width / 4) + kThreads - 1) / kThreads,
                  in.count * 3);
  BlurPlanesKernel<kRadius><<<grid, kThreads, 0, stream>>>(
      in.data, in.height, in.width, sigmas, out);
  return cudaGetLastError();
}

// Elements from `at` on of a row of `size`, with their neighbors.
template <int kRadius>
__device__ __forceinline__ void LoadByteSpan(const uint8_t* row, int at,
                                             int size, float* span) {
  using T = BlurTile<kRadius>;
  constexpr int kPad = (T::kSide + 3) / 4 * 4;
  // One word more than the span, for unaligned rows.
  if (at < kPad || at + T::kGroup + kPad + 4 > size) {
    SpanAtEdge<kRadius>(row, at / 3, size / 3, span);
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(row + at - kPad);
  const uint32_t offset = address & 3;
  const auto* words = reinterpret_cast<const uint32_t*>(address - offset);
  uint32_t low = __ldg(words);
#pragma unroll
  for (int i = 0; i < (T::kGroup + 2 * kPad) / 4; ++i) {
    const uint32_t high = __ldg(words + i + 1);
    const uint32_t word = __funnelshift_r(low, high, offset * 8);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int element = 4 * i + k - (kPad - T::kSide);
      if (element >= 0 && element < T::kSpan) span[element] = ByteOf(word, k);
    }
    low = high;
  }
}

// Stores the first `count` of four elements.
__device__ __forceinline__ void StoreElements(uint8_t* at, const float v[4],
                                              int count) {
  if (count >= 4 && (reinterpret_cast<uintptr_t>(at) & 3) == 0) {
    __stcs(reinterpret_cast<uint32_t*>(at),
           PackBytes(v[0], v[1], v[2]) | static_cast<uint32_t>(ToByte(v[3]))
                                             << 24);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < count) at[k] = ToByte(v[k]);
  }
}

template <int kRadius>
__device__ __forceinline__ void FillTable(const ByteImage& from, int left,
                                          int top, const float* weights,
                                          float4* table) {
  using T = BlurTile<kRadius>;
  const int group = threadIdx.x % T::kGroups;
  const int size = from.width * 3;
  const int at = left + group * T::kGroup;
  if (at >= size) return;
  for (int row = threadIdx.x / T::kGroups; row < T::kRows; row += T::kRowStep) {
    const int y = top - kRadius + row;
    // No row of the image needs the following ones.
    if (y >= from.height + kRadius) return;
    const int64_t inside = InsideOf(y, from.height, Edge::kReflect);
    float span[T::kSpan];
    LoadByteSpan<kRadius>(from.data + inside * from.stride, at, size, span);
    float v[T::kGroup];
    BlurAcross<kRadius>(span, weights, v);
    float4* const to = table + row * T::kQuads + group * (T::kGroup / 4);
#pragma unroll
    for (int q = 0; q < T::kGroup / 4; ++q) {
      to[q] = make_float4(v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
    }
  }
}

template <int kRadius>
__device__ __forceinline__ void BlurDown(const float4* table, int left, int top,
                                         const float* weights,
                                         const ByteImage& to) {
  using T = BlurTile<kRadius>;
  const int size = to.width * 3;
  const int at = left + threadIdx.x % T::kQuads * 4;
  if (at >= size) return;
  const int first = threadIdx.x / T::kQuads * T::kSegmentRows;
  const float4* const column =
      table + first * T::kQuads + threadIdx.x % T::kQuads;
  BlurColumn<kRadius> kept;
#pragma unroll
  for (int row = 0; row < T::kSegmentRows + 2 * kRadius; ++row) {
    const float4 quad = column[row * T::kQuads];
    const float v[4] = {quad.x, quad.y, quad.z, quad.w};
    kept.Put(row, v);
    if (row < 2 * kRadius) continue;
    const int y = top + first + row - 2 * kRadius;
    if (y >= to.height) return;
    float sums[4];
    kept.Sum(row - 2 * kRadius, weights, sums);
    StoreElements(to.data + y * to.stride + at, sums, size - at);
  }
}

// Target number of blocks per multiprocessor, which registers limit.
constexpr int BlocksFor(int radius) { return radius <= 3 ? 6 : 4; }

template <int kRadius>
__global__ __launch_bounds__(
    BlurTile<kRadius>::kThreads,
    BlocksFor(kRadius)) void BlurTilesKernel(const ByteImage* in,
                                             const float* sigmas,
                                             const ByteImage* out) {
  using T = BlurTile<kRadius>;
  __shared__ float4 table[T::kRows * T::kQuads];
  const ByteImage from = in[blockIdx.z];
  const int left = blockIdx.x * T::kWidth;
  const int top = blockIdx.y * T::kHeight;
  // All threads of the block return, so that none waits for the others.
  if (left >= from.width * 3 || top >= from.height) return;
  float weights[kRadius + 1];
  GaussianWeights(sigmas[blockIdx.z], kRadius, weights);
  FillTable<kRadius>(from, left, top, weights, table);
  __syncthreads();
  BlurDown<kRadius>(table, left, top, weights, out[blockIdx.z]);
}

template <int kRadius>
cudaError_t LaunchBytes(const ByteImage* in, const float* sigmas, int count,
                        const ByteImage* out, int max_height, int max_width,
                        cudaStream_t stream) {
  using T = BlurTile<kRadius>;
  const dim3 grid((max_width * 3 + T::kWidth - 1) / T::kWidth,
                  (max_height + T::kHeight - 1) / T::kHeight, count);
  BlurTilesKernel<kRadius><<<grid, T::kThreads, 0, stream>>>(in, sigmas, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t BlurPlanes(const Planes& in, const float* sigmas, int radius,
                       float* out, cudaStream_t stream) {
  if (in.count == 0) return cudaSuccess;
  if (in.width % 4 != 0) return cudaErrorInvalidValue;
  return ForRadius(radius, [&](auto known) {
    return LaunchPlanes<decltype(known)::value>(in, sigmas, out, stream);
  });
}

cudaError_t BlurBytes(const ByteImage* in, const float* sigmas, int count,
                      int radius, const ByteImage* out, int max_height,
                      int max_width, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  return ForRadius(radius, [&](auto known) {
    return LaunchBytes<decltype(known)::value>(in, sigmas, count, out,
                                               max_height, max_width, stream);
  });
}

}  // namespace feedrate::fused
