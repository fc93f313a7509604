// Gaussian blur, separable: a thread owns four elements side by side and walks
// down a strip of rows. It smooths each row across as it arrives and keeps the
// last 2R + 1 of them in registers for smoothing down, so that nothing is read
// from memory twice but the rows between strips.
#include "lib/adapters/cuda/blur_math.h"
#include "lib/adapters/cuda/blur_radius.h"
#include "lib/adapters/cuda/blur_tiles.h"
#include "lib/adapters/cuda/device_io.cuh"
#include "lib/adapters/cuda/fused.h"
#include "lib/adapters/cuda/taps.h"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 128;
constexpr int kStripRows = 32;

// Elements of a row beside the four, a multiple of four on each side. kStep is
// the distance from a pixel to the next: 3 for bytes, 1 for planes.
template <int kRadius, int kStep>
struct Span {
  static constexpr int kPad = (kRadius * kStep + 3) / 4 * 4;
  static constexpr int kSize = 4 + 2 * kPad;
  float values[kSize];
};

// Element `at` of a row of `size`, which may lie beyond the border.
template <int kStep>
__device__ __forceinline__ int InsideElement(int at, int size) {
  // Division rounds down for what is left of the border as well.
  const int pixel = (at + kStep * 64) / kStep - 64;
  const int inside = InsideOf(pixel, size / kStep, Edge::kReflect);
  return inside * kStep + at - pixel * kStep;
}

template <typename T, typename S, int kStep>
__device__ __forceinline__ void LoadAtEdge(const T* row, int at, int size,
                                           S* span) {
#pragma unroll
  for (int i = 0; i < S::kSize; ++i) {
    const int element = InsideElement<kStep>(at + i - S::kPad, size);
    // What lies behind the end only fills the last four.
    span->values[i] = static_cast<float>(row[Clamp(element, 0, size - 1)]);
  }
}

// What lies beyond the border is in the span already, mirrored. Only what is
// within the radius becomes right, which is all that is used.
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
    if (at + 4 + before == size) {  // And here it ends.
#pragma unroll
      for (int j = 1; j <= kPad - before; ++j) {
        values[kPad + 3 + before + j] = values[kPad + 3 + before - j];
      }
    }
  }
}

template <int kRadius>
__device__ __forceinline__ void LoadSpan(const float* row, int at, int size,
                                         Span<kRadius, 1>* span) {
  using S = Span<kRadius, 1>;
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

template <int kRadius>
__device__ __forceinline__ void LoadSpan(const uint8_t* row, int at, int size,
                                         Span<kRadius, 3>* span) {
  using S = Span<kRadius, 3>;
  // One word more than the span, for rows that start between words.
  if (at < S::kPad || at + 8 + S::kPad > size) {
    LoadAtEdge<uint8_t, S, 3>(row, at, size, span);
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(row + at - S::kPad);
  const uint32_t offset = address & 3;
  const auto* words = reinterpret_cast<const uint32_t*>(address - offset);
  uint32_t low = __ldg(words);
#pragma unroll
  for (int i = 0; i < S::kSize / 4; ++i) {
    const uint32_t high = __ldg(words + i + 1);
    const uint32_t word = __funnelshift_r(low, high, offset * 8);
#pragma unroll
    for (int k = 0; k < 4; ++k) span->values[4 * i + k] = ByteOf(word, k);
    low = high;
  }
}

__device__ __forceinline__ void StoreElements(float* at, const float v[4],
                                              int) {
  StoreFour(at, v);
}

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

// Rows of `size` elements, `stride` elements apart.
template <typename T>
struct Lines {
  T* data;
  int64_t stride;
};

template <typename T, int kRadius, int kStep>
__device__ __forceinline__ void BlurStrip(const Lines<const T>& in,
                                          const Lines<T>& out, int height,
                                          int size, float sigma, int at,
                                          int top) {
  using S = Span<kRadius, kStep>;
  constexpr int kRows = 2 * kRadius + 1;
  float weights[kRadius + 1];
  GaussianWeights(sigma, kRadius, weights);
  float window[kRows][4];
  const int bottom = min(top + kStripRows, height);
  const auto row_of = [&](int y) {
    return in.data + InsideOf(y, height, Edge::kReflect) * in.stride;
  };
  S next;
  LoadSpan<kRadius>(row_of(top - kRadius), at, size, &next);
  for (int y = top - kRadius; y < bottom + kRadius; ++y) {
    const S span = next;
    // In flight while this row is worked on.
    if (y + 1 < bottom + kRadius) {
      LoadSpan<kRadius>(row_of(y + 1), at, size, &next);
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
        sum += weights[j] * (span.values[S::kPad + k - j * kStep] +
                             span.values[S::kPad + k + j * kStep]);
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
    StoreElements(out.data + (y - kRadius) * out.stride + at, v, size - at);
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
  BlurStrip<float, kRadius, 1>({in + plane, width}, {out + plane, width},
                               height, width, sigmas[blockIdx.y / 3],
                               i % quads * 4, i / quads * kStripRows);
}

template <int kRadius>
__global__ __launch_bounds__(kThreads) void BlurBytesKernel(
    const ByteImage* in, const float* sigmas, const ByteImage* out) {
  const ByteImage from = in[blockIdx.y];
  const ByteImage to = out[blockIdx.y];
  const int size = from.width * 3;
  const int quads = (size + 3) / 4;
  const int strips = (from.height + kStripRows - 1) / kStripRows;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= strips * quads) return;
  BlurStrip<uint8_t, kRadius, 3>({from.data, from.stride}, {to.data, to.stride},
                                 from.height, size, sigmas[blockIdx.y],
                                 i % quads * 4, i / quads * kStripRows);
}

int Blocks(int height, int quads) {
  const int strips = (height + kStripRows - 1) / kStripRows;
  return (strips * quads + kThreads - 1) / kThreads;
}

template <int kRadius>
cudaError_t LaunchPlanes(const Planes& in, const float* sigmas, float* out,
                         cudaStream_t stream) {
  const dim3 grid(Blocks(in.height, in.width / 4), in.count * 3);
  BlurPlanesKernel<kRadius><<<grid, kThreads, 0, stream>>>(
      in.data, in.height, in.width, sigmas, out);
  return cudaGetLastError();
}

template <int kRadius>
cudaError_t LaunchBytes(const ByteImage* in, const float* sigmas, int count,
                        const ByteImage* out, int max_height, int max_width,
                        cudaStream_t stream) {
  const dim3 grid(Blocks(max_height, (max_width * 3 + 3) / 4), count);
  BlurBytesKernel<kRadius><<<grid, kThreads, 0, stream>>>(in, sigmas, out);
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
                      int max_width, cudaStream_t stream, BlurPath path) {
  if (count == 0) return cudaSuccess;
  if (path == BlurPath::kTiles) {
    return BlurTiles(in, sigmas, count, radius, out, max_height, max_width,
                     stream);
  }
  return ForRadius(radius, [&](auto known) {
    return LaunchBytes<decltype(known)::value>(in, sigmas, count, out,
                                               max_height, max_width, stream);
  });
}

}  // namespace feedrate::fused
