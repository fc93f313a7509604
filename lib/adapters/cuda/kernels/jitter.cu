// Brightness, contrast, saturation and hue in one launch, with one cluster per
// image.
#include "lib/adapters/cuda/kernels/cluster.cuh"
#include "lib/adapters/cuda/kernels/device_io.cuh"
#include "lib/adapters/cuda/kernels/fused.h"

namespace feedrate::fused {
namespace {

constexpr int kByteThreads = 512;
constexpr int kPlaneThreads = 512;
// Two such blocks fit on a multiprocessor: while one waits for its mean, the
// other moves data.
constexpr int kStageBytes = 100 * 1024;
constexpr int kStagedQuads = kStageBytes / (3 * sizeof(float4));

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

struct FourPixels {
  float4 r;
  float4 g;
  float4 b;
};

__device__ __forceinline__ Rgb ColourAt(const FourPixels& p, int k) {
  const float* r = &p.r.x;
  const float* g = &p.g.x;
  const float* b = &p.b.x;
  return {r[k], g[k], b[k]};
}

__device__ __forceinline__ float LumaBefore(const Jitter& jitter,
                                            const FourPixels& p) {
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    sum += LumaOf(BeforeContrast(jitter, ColourAt(p, k)));
  }
  return sum;
}

// The first kStagedQuads of a block's share stay in shared memory between the
// two passes; the rest is read twice.
class PlaneShare {
 public:
  __device__ PlaneShare(const float* image, int quads, Share share,
                        float4* stage)
      : planes_(reinterpret_cast<const float4*>(image) + share.first),
        quads_(quads),
        stage_(stage) {
    // Each thread reads what it copied itself, so no barrier is needed.
    for (int i = threadIdx.x; i < min(share.count, kStagedQuads);
         i += kPlaneThreads) {
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        CopyAhead(stage_ + c * kStagedQuads + i,
                  planes_ + c * static_cast<int64_t>(quads_) + i);
      }
    }
    WaitForCopies();
  }

  __device__ FourPixels At(int i) const {
    if (i < kStagedQuads) {
      return {stage_[i], stage_[kStagedQuads + i],
              stage_[2 * kStagedQuads + i]};
    }
    const float4* at = planes_ + i;
    return {__ldcs(at), __ldcs(at + quads_),
            __ldcs(at + 2 * static_cast<int64_t>(quads_))};
  }

 private:
  const float4* planes_;
  int quads_;
  float4* stage_;
};

__global__ __launch_bounds__(kPlaneThreads, 2) void JitterPlanesKernel(
    const float* in, int quads, const Jitter* jitters, float* out) {
  extern __shared__ float4 stage[];
  __shared__ float scratch[33];
  const Jitter jitter = jitters[blockIdx.y];
  const int64_t image = static_cast<int64_t>(blockIdx.y) * quads * 3;
  const Share share = ShareOf(quads);
  const PlaneShare pixels(in + image * 4, quads, share, stage);
  float mean = 0;
  if (HasContrast(jitter)) {
    float sum = 0;
    for (int i = threadIdx.x; i < share.count; i += kPlaneThreads) {
      sum += LumaBefore(jitter, pixels.At(i));
    }
    mean = ClusterSum(sum, scratch) / (4.0f * static_cast<float>(quads));
  }
  float4* to = reinterpret_cast<float4*>(out) + image + share.first;
  for (int i = threadIdx.x; i < share.count; i += kPlaneThreads) {
    const FourPixels p = pixels.At(i);
    float v[3][4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Rgb c = Jittered(jitter, ColourAt(p, k), mean);
      v[0][k] = c.r;
      v[1][k] = c.g;
      v[2][k] = c.b;
    }
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      StoreFour(
          reinterpret_cast<float*>(to + c * static_cast<int64_t>(quads) + i),
          v[c]);
    }
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

// Bytes are small enough to be read twice: the second time they are in L2.
__global__ __launch_bounds__(kByteThreads) void JitterBytesKernel(
    const ByteImage* in, const Jitter* jitters, const ByteImage* out) {
  __shared__ float scratch[33];
  const Jitter jitter = jitters[blockIdx.y];
  const ByteImage from = in[blockIdx.y];
  const ByteImage to = out[blockIdx.y];
  const int per_row = (from.width + 3) / 4;
  const Share share = ShareOf(per_row * from.height);
  float mean = 0;
  if (HasContrast(jitter)) {
    float sum = 0;
    for (int i = threadIdx.x; i < share.count; i += kByteThreads) {
      const int y = (share.first + i) / per_row;
      const int x = (share.first + i - y * per_row) * 4;
      uint32_t p[4];
      LoadPixels(from.data + y * from.stride, x, from.width, p);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (x + k < from.width) {
          sum += LumaOf(BeforeContrast(jitter, ColourOf(p[k])));
        }
      }
    }
    mean = ClusterSum(sum, scratch) /
           (static_cast<float>(from.height) * static_cast<float>(from.width));
  }
  for (int i = threadIdx.x; i < share.count; i += kByteThreads) {
    const int y = (share.first + i) / per_row;
    const int x = (share.first + i - y * per_row) * 4;
    uint32_t p[4];
    LoadPixels(from.data + y * from.stride, x, from.width, p);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      p[k] = PackColour(Jittered(jitter, ColourOf(p[k]), mean));
    }
    StorePixels(to.data + y * to.stride + 3 * x, p, from.width - x);
  }
}

}  // namespace

cudaError_t JitterPlanes(const Planes& in, const Jitter* jitters, float* out,
                         cudaStream_t stream) {
  if (in.count == 0) return cudaSuccess;
  if (in.height * in.width % 4 != 0) return cudaErrorInvalidValue;
  return LaunchInClusters(JitterPlanesKernel, in.count, kPlaneThreads,
                          kStagedQuads * 3 * sizeof(float4), stream, in.data,
                          in.height * in.width / 4, jitters, out);
}

cudaError_t JitterBytes(const ByteImage* in, const Jitter* jitters, int count,
                        const ByteImage* out, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  return LaunchInClusters(JitterBytesKernel, count, kByteThreads, 0, stream, in,
                          jitters, out);
}

}  // namespace feedrate::fused
