// Gaussian blur, separable: a thread owns four elements side by side and walks
// down a strip of rows. It smooths each row across as it arrives and keeps the
// last 2R + 1 of them in registers for smoothing down, so that nothing is read
// from memory twice but the rows between strips.
#include "lib/adapters/cuda/blur_math.h"
#include "lib/adapters/cuda/device_io.cuh"
#include "lib/adapters/cuda/fused.h"
#include "lib/adapters/cuda/taps.h"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 128;
constexpr int kStripRows = 32;

// Elements of a row with those beside them, a multiple of four on each side, as
// they lie in memory: bytes four to a word.
template <int kRadius>
struct FloatSpan {
  static constexpr int kStep = 1;  // From a pixel to the next.
  static constexpr int kPad = (kRadius + 3) / 4 * 4;
  static constexpr int kSize = 4 + 2 * kPad;
  __device__ __forceinline__ float At(int i) const { return values[i]; }

  float values[kSize];
};

template <int kRadius>
struct ByteSpan {
  static constexpr int kStep = 3;
  static constexpr int kPad = (3 * kRadius + 3) / 4 * 4;
  static constexpr int kSize = 4 + 2 * kPad;
  __device__ __forceinline__ float At(int i) const {
    return ByteOf(words[i / 4], i % 4);
  }

  uint32_t words[kSize / 4];
};

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
                                         FloatSpan<kRadius>* span) {
  using S = FloatSpan<kRadius>;
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

// Byte `at` of a row of pixels, which may lie beyond the border.
__device__ __forceinline__ uint32_t ByteInside(const uint8_t* row, int at,
                                               int size) {
  // Division rounds down for what is left of the border as well.
  const int pixel = (at + 3 * 64) / 3 - 64;
  const int inside = InsideOf(pixel, size / 3, Edge::kReflect);
  // What lies behind the end of the last four is not used.
  return row[Clamp(inside * 3 + at - pixel * 3, 0, size - 1)];
}

template <int kRadius>
__device__ __forceinline__ void LoadSpan(const uint8_t* row, int at, int size,
                                         ByteSpan<kRadius>* span) {
  using S = ByteSpan<kRadius>;
  constexpr int kWords = S::kSize / 4;
  // One word more than the span, for rows that start between words.
  if (at < S::kPad || at + 8 + S::kPad > size) {
    // Hidden from the compiler, which would keep all places in registers from
    // row to row.
    int start = at - S::kPad;
    asm volatile("" : "+r"(start));
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      uint32_t word = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        word |= ByteInside(row, start + 4 * i + k, size) << (8 * k);
      }
      span->words[i] = word;
    }
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(row + at - S::kPad);
  const uint32_t offset = address & 3;
  const auto* words = reinterpret_cast<const uint32_t*>(address - offset);
  uint32_t low = __ldg(words);
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const uint32_t high = __ldg(words + i + 1);
    span->words[i] = __funnelshift_r(low, high, offset * 8);
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

template <typename T, int kRadius, typename S>
__device__ __forceinline__ void BlurStrip(const Lines<const T>& in,
                                          const Lines<T>& out, int height,
                                          int size, float sigma, int at,
                                          int top) {
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
      float sum = weights[0] * span.At(S::kPad + k);
#pragma unroll
      for (int j = 1; j <= kRadius; ++j) {
        sum += weights[j] * (span.At(S::kPad + k - j * S::kStep) +
                             span.At(S::kPad + k + j * S::kStep));
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
  BlurStrip<float, kRadius, FloatSpan<kRadius>>(
      {in + plane, width}, {out + plane, width}, height, width,
      sigmas[blockIdx.y / 3], i % quads * 4, i / quads * kStripRows);
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
  BlurStrip<uint8_t, kRadius, ByteSpan<kRadius>>(
      {from.data, from.stride}, {to.data, to.stride}, from.height, size,
      sigmas[blockIdx.y], i % quads * 4, i / quads * kStripRows);
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
  switch (radius) {
    case 1:
      return LaunchPlanes<1>(in, sigmas, out, stream);
    case 2:
      return LaunchPlanes<2>(in, sigmas, out, stream);
    case 3:
      return LaunchPlanes<3>(in, sigmas, out, stream);
    case 4:
      return LaunchPlanes<4>(in, sigmas, out, stream);
    case 5:
      return LaunchPlanes<5>(in, sigmas, out, stream);
    case 6:
      return LaunchPlanes<6>(in, sigmas, out, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t BlurBytes(const ByteImage* in, const float* sigmas, int count,
                      int radius, const ByteImage* out, int max_height,
                      int max_width, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto launch = [&](auto run) {
    return run(in, sigmas, count, out, max_height, max_width, stream);
  };
  switch (radius) {
    case 1:
      return launch(LaunchBytes<1>);
    case 2:
      return launch(LaunchBytes<2>);
    case 3:
      return launch(LaunchBytes<3>);
    case 4:
      return launch(LaunchBytes<4>);
    case 5:
      return launch(LaunchBytes<5>);
    case 6:
      return launch(LaunchBytes<6>);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace feedrate::fused
