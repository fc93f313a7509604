// Gaussian blur of bytes, a tile a block: blur_tile.h says who does what.
// Beside the strips of blur.cu a thread keeps a third of the registers, and a
// byte is turned into a float twice to four times instead of five to eleven.
#include "lib/adapters/cuda/blur_math.h"
#include "lib/adapters/cuda/blur_radius.h"
#include "lib/adapters/cuda/blur_tile.h"
#include "lib/adapters/cuda/blur_tiles.h"
#include "lib/adapters/cuda/device_io.cuh"

namespace feedrate::fused {
namespace {

// Elements `at` and on of a row of `size`, and those beside them.
template <int kRadius>
__device__ __forceinline__ void LoadSpan(const uint8_t* row, int at, int size,
                                         float* span) {
  using T = BlurTile<kRadius>;
  constexpr int kPad = (T::kSide + 3) / 4 * 4;
  // One word more than the span, for rows that start between words.
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

// Four elements, of which the first `count` are wanted.
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
    // No row of the image needs what comes then.
    if (y >= from.height + kRadius) return;
    const int64_t inside = InsideOf(y, from.height, Edge::kReflect);
    float span[T::kSpan];
    LoadSpan<kRadius>(from.data + inside * from.stride, at, size, span);
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

// Blocks a multiprocessor should hold: registers are what bounds them.
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
  // All threads of the block, so that none waits for the others.
  if (left >= from.width * 3 || top >= from.height) return;
  float weights[kRadius + 1];
  GaussianWeights(sigmas[blockIdx.z], kRadius, weights);
  FillTable<kRadius>(from, left, top, weights, table);
  __syncthreads();
  BlurDown<kRadius>(table, left, top, weights, out[blockIdx.z]);
}

template <int kRadius>
cudaError_t Launch(const ByteImage* in, const float* sigmas, int count,
                   const ByteImage* out, int max_height, int max_width,
                   cudaStream_t stream) {
  using T = BlurTile<kRadius>;
  const dim3 grid((max_width * 3 + T::kWidth - 1) / T::kWidth,
                  (max_height + T::kHeight - 1) / T::kHeight, count);
  BlurTilesKernel<kRadius><<<grid, T::kThreads, 0, stream>>>(in, sigmas, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t BlurTiles(const ByteImage* in, const float* sigmas, int count,
                      int radius, const ByteImage* out, int max_height,
                      int max_width, cudaStream_t stream) {
  return ForRadius(radius, [&](auto known) {
    return Launch<decltype(known)::value>(in, sigmas, count, out, max_height,
                                          max_width, stream);
  });
}

}  // namespace feedrate::fused
