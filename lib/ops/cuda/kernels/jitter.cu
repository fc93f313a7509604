// Brightness, contrast, saturation and hue in one launch: with one cluster per
// image where contrast needs the mean of it.
#include "lib/ops/cuda/kernels/cluster.cuh"
#include "lib/ops/cuda/kernels/device_io.cuh"
#include "lib/ops/cuda/kernels/fused.h"

namespace feedrate::fused {
namespace {

constexpr int kByteThreads = 512;
constexpr int kPlaneThreads = 768;
// Two such blocks fit on a multiprocessor: while one waits for its mean, the
// other moves data.
constexpr int kStageBytes = 100 * 1024;
constexpr int kStagedQuads = kStageBytes / (3 * sizeof(float4));
// Without contrast: threads, and blocks per image.
constexpr int kPointThreads = 256;
constexpr int kPointBlocks = 16;

// The part of `count` that this block of the cluster processes.
struct Share {
  int first;
  int count;
};

__device__ __forceinline__ Share ShareOf(int count) {
  const int share = (count + kClusterBlocks - 1) / kClusterBlocks;
  const int first = min(static_cast<int>(blockIdx.x) * share, count);
  return {first, min(share, count - first)};
}

__device__ __forceinline__ void LoadFour(const float4* at, int64_t plane,
                                         Rgb (&c)[4]) {
  const float4 r = at[0];
  const float4 g = at[plane];
  const float4 b = at[2 * plane];
  c[0] = {r.x, g.x, b.x};
  c[1] = {r.y, g.y, b.y};
  c[2] = {r.z, g.z, b.z};
  c[3] = {r.w, g.w, b.w};
}

__device__ __forceinline__ void StorePlanes(float* at, int64_t plane,
                                            const Rgb (&c)[4]) {
  const float r[4] = {c[0].r, c[1].r, c[2].r, c[3].r};
  const float g[4] = {c[0].g, c[1].g, c[2].g, c[3].g};
  const float b[4] = {c[0].b, c[1].b, c[2].b, c[3].b};
  StoreFour(at, r);
  StoreFour(at + plane, g);
  StoreFour(at + 2 * plane, b);
}

__device__ __forceinline__ void StageFour(float4* at, const Rgb (&c)[4]) {
  at[0] = make_float4(c[0].r, c[1].r, c[2].r, c[3].r);
  at[kStagedQuads] = make_float4(c[0].g, c[1].g, c[2].g, c[3].g);
  at[2 * kStagedQuads] = make_float4(c[0].b, c[1].b, c[2].b, c[3].b);
}

// One cluster per image. The first pass applies the steps before contrast,
// keeps the first kStagedQuads groups of four pixels in shared memory, and
// finds the mean; the second applies the rest. Other groups are read and
// computed twice. Each thread reads only what it stored itself, so that needs
// no barrier. `load(i, colors)` and `store(i, colors)` move group i of the
// block's share; load returns how many of its pixels exist.
template <int kThreads, typename Load, typename Store>
__device__ __forceinline__ void JitterShare(const Jitter& jitter, int count,
                                            float pixels, float4* stage,
                                            Load load, Store store) {
  __shared__ float scratch[33];
  const uint32_t rest = FromContrast(jitter.steps);
  float mean = 0;
  if (rest != 0) {
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += kThreads) {
      Rgb c[4];
      const int valid = load(i, c);
      ApplySteps(jitter, jitter.steps, kContrast, 0, c);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (k < valid) sum += LumaOf(c[k]);
      }
      if (i < kStagedQuads) StageFour(stage + i, c);
    }
    mean = ClusterSum(sum, scratch) / pixels;
  }
  for (int i = threadIdx.x; i < count; i += kThreads) {
    Rgb c[4];
    const bool is_staged = rest != 0 && i < kStagedQuads;
    if (is_staged) {
      LoadFour(stage + i, kStagedQuads, c);
    } else {
      load(i, c);
    }
    ApplySteps(jitter, is_staged ? rest : jitter.steps, kNoStep, mean, c);
    store(i, c);
  }
}

__global__ __launch_bounds__(kPlaneThreads, 2) void JitterPlanesKernel(
    const float* in, int quads, const Jitter* jitters, float* out) {
  extern __shared__ float4 stage[];
  const Share share = ShareOf(quads);
  const int64_t first =
      static_cast<int64_t>(blockIdx.y) * quads * 3 + share.first;
  const float4* from = reinterpret_cast<const float4*>(in) + first;
  float* to = out + 4 * first;
  const int64_t plane = quads;
  for (int i = threadIdx.x; i < min(share.count, kStagedQuads);
       i += kPlaneThreads) {
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      CopyAhead(stage + c * kStagedQuads + i, from + c * plane + i);
    }
  }
  WaitForCopies();
  JitterShare<kPlaneThreads>(
      jitters[blockIdx.y], share.count, 4.0f * static_cast<float>(quads), stage,
      [&](int i, Rgb(&c)[4]) {
        if (i < kStagedQuads) {
          LoadFour(stage + i, kStagedQuads, c);
        } else {
          LoadFour(from + i, plane, c);
        }
        return 4;
      },
      [&](int i, const Rgb(&c)[4]) { StorePlanes(to + 4 * i, 4 * plane, c); });
}

__global__ __launch_bounds__(kPointThreads) void PointPlanesKernel(
    const float* in, int quads, const Jitter* jitters, float* out) {
  const int64_t first = static_cast<int64_t>(blockIdx.y) * quads * 3;
  const float4* from = reinterpret_cast<const float4*>(in) + first;
  float* to = out + 4 * first;
  const Jitter jitter = jitters[blockIdx.y];
  for (int i = blockIdx.x * kPointThreads + threadIdx.x; i < quads;
       i += kPointBlocks * kPointThreads) {
    Rgb c[4];
    LoadFour(from + i, quads, c);
    ApplySteps(jitter, jitter.steps, kNoStep, 0, c);
    StorePlanes(to + 4 * i, 4 * int64_t{quads}, c);
  }
}

// Pixels x to x + 3 of a row; zeros beyond the width.
__device__ __forceinline__ void LoadPixels(const uint8_t* row, int x, int width,
                                           uint32_t p[4]) {
  if (x + 4 <= width) {
    const Quad quad = LoadQuad(row + 3 * x);
#pragma unroll
    for (int k = 0; k < 4; ++k) p[k] = PixelOf(quad, k);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    p[k] = x + k < width ? LoadPixel(row + 3 * (x + k)) : 0;
  }
}

__device__ __forceinline__ void LoadColors(const uint8_t* row, int x, int width,
                                           Rgb (&c)[4]) {
  uint32_t p[4];
  LoadPixels(row, x, width, p);
#pragma unroll
  for (int k = 0; k < 4; ++k) c[k] = ColorOf(p[k]);
}

// Colors are 0..1, so their levels need no limits.
__device__ __forceinline__ void StoreColors(uint8_t* at, int count,
                                            const Rgb (&c)[4]) {
  uint32_t p[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float levels[3] = {c[k].r * 255, c[k].g * 255, c[k].b * 255};
    p[k] = PackLevels(levels);
  }
  StorePixels(at, p, count);
}

__global__ __launch_bounds__(kPointThreads) void PointBytesKernel(
    const ByteImage* in, const Jitter* jitters, const ByteImage* out) {
  const ByteImage from = in[blockIdx.y];
  const ByteImage to = out[blockIdx.y];
  const Jitter jitter = jitters[blockIdx.y];
  // Rows without gaps are one long row.
  const int row_bytes = from.width * 3;
  const bool joined = from.stride == row_bytes && to.stride == row_bytes;
  const int width = joined ? from.width * from.height : from.width;
  const int per_row = (width + 3) / 4;
  const int quads = joined ? per_row : per_row * from.height;
  for (int i = blockIdx.x * kPointThreads + threadIdx.x; i < quads;
       i += kPointBlocks * kPointThreads) {
    const int y = joined ? 0 : i / per_row;
    const int x = (i - y * per_row) * 4;
    Rgb c[4];
    LoadColors(from.data + y * from.stride, x, width, c);
    ApplySteps(jitter, jitter.steps, kNoStep, 0, c);
    StoreColors(to.data + y * to.stride + 3 * x, width - x, c);
  }
}

__global__ __launch_bounds__(kByteThreads,
                             2) void JitterBytesKernel(const ByteImage* in,
                                                       const Jitter* jitters,
                                                       const ByteImage* out) {
  extern __shared__ float4 stage[];
  const ByteImage from = in[blockIdx.y];
  const ByteImage to = out[blockIdx.y];
  const int per_row = (from.width + 3) / 4;
  const Share share = ShareOf(per_row * from.height);
  JitterShare<kByteThreads>(
      jitters[blockIdx.y], share.count,
      static_cast<float>(from.height) * static_cast<float>(from.width), stage,
      [&](int i, Rgb(&c)[4]) {
        const int y = (share.first + i) / per_row;
        const int x = (share.first + i - y * per_row) * 4;
        LoadColors(from.data + y * from.stride, x, from.width, c);
        return from.width - x;
      },
      [&](int i, const Rgb(&c)[4]) {
        const int y = (share.first + i) / per_row;
        const int x = (share.first + i - y * per_row) * 4;
        StoreColors(to.data + y * to.stride + 3 * x, from.width - x, c);
      });
}

}  // namespace

cudaError_t JitterPlanes(const Planes& in, const Jitter* jitters,
                         bool has_contrast, float* out, cudaStream_t stream) {
  if (in.count == 0) return cudaSuccess;
  if (in.height * in.width % 4 != 0) return cudaErrorInvalidValue;
  const int quads = in.height * in.width / 4;
  if (!has_contrast) {
    PointPlanesKernel<<<dim3(kPointBlocks, in.count), kPointThreads, 0,
                        stream>>>(in.data, quads, jitters, out);
    return cudaGetLastError();
  }
  return LaunchInClusters(JitterPlanesKernel, in.count, kPlaneThreads,
                          kStagedQuads * 3 * sizeof(float4), stream, in.data,
                          quads, jitters, out);
}

cudaError_t JitterBytes(const ByteImage* in, const Jitter* jitters, int count,
                        bool has_contrast, const ByteImage* out,
                        cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  if (!has_contrast) {
    PointBytesKernel<<<dim3(kPointBlocks, count), kPointThreads, 0, stream>>>(
        in, jitters, out);
    return cudaGetLastError();
  }
  return LaunchInClusters(JitterBytesKernel, count, kByteThreads,
                          kStagedQuads * 3 * sizeof(float4), stream, in,
                          jitters, out);
}

}  // namespace feedrate::fused
