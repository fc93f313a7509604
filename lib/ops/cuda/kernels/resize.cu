// Resizes planes without antialiasing. A thread owns four output columns and
// walks down a strip of rows: an input row is read and resized horizontally
// once, however many output rows lie between it and the next.
#include "lib/ops/cuda/kernels/device_io.cuh"
#include "lib/ops/cuda/kernels/fused.h"
#include "lib/ops/cuda/kernels/warp_math.h"

namespace feedrate::fused {
namespace {

constexpr int kThreads = 128;
constexpr int kStripRows = 32;

struct ResizeArgs {
  const float* in;
  float* out;
  int height;
  int width;
  int to_height;
  int to_width;
  float step_y;
  float step_x;
};

// The two pixels around the position of pixel `i`, and its fraction between
// them.
struct Pair {
  int at;
  int next;
  float part;
};

__device__ __forceinline__ Pair PairOf(int i, float step, int size) {
  const float at =
      Clamp(ResizedFrom(i, step), 0.0f, static_cast<float>(size - 1));
  const int low = static_cast<int>(at);
  return {low, min(low + 1, size - 1), at - static_cast<float>(low)};
}

__device__ __forceinline__ void StretchRow(const float* row,
                                           const Pair columns[4], float v[4]) {
  float low[4];
  float high[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    low[k] = __ldg(row + columns[k].at);
    high[k] = __ldg(row + columns[k].next);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = Between(low[k], high[k], columns[k].part);
}

__global__ __launch_bounds__(kThreads) void ResizeKernel(ResizeArgs args) {
  const int quads = args.to_width / 4;
  const int strips = (args.to_height + kStripRows - 1) / kStripRows;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= strips * quads) return;
  const int x = i % quads * 4;
  const int top = i / quads * kStripRows;
  const int bottom = min(top + kStripRows, args.to_height);
  const float* in =
      args.in + static_cast<int64_t>(blockIdx.y) * args.height * args.width;
  float* out = args.out + static_cast<int64_t>(blockIdx.y) * args.to_height *
                              args.to_width;
  Pair columns[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    columns[k] = PairOf(x + k, args.step_x, args.width);
  }
  float above[4];
  float below[4];
  int have_above = -1;
  int have_below = -1;
  for (int y = top; y < bottom; ++y) {
    const Pair rows = PairOf(y, args.step_y, args.height);
    if (rows.at != have_above) {
      if (rows.at == have_below) {
#pragma unroll
        for (int k = 0; k < 4; ++k) above[k] = below[k];
      } else {
        StretchRow(in + rows.at * args.width, columns, above);
      }
      have_above = rows.at;
    }
    if (rows.next != have_below) {
      StretchRow(in + rows.next * args.width, columns, below);
      have_below = rows.next;
    }
    float v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = Between(above[k], below[k], rows.part);
    StoreFour(out + y * args.to_width + x, v);
  }
}

}  // namespace

cudaError_t ResizePlanes(const Planes& in, int to_height, int to_width,
                         float* out, cudaStream_t stream) {
  if (in.count == 0) return cudaSuccess;
  if (to_width % 4 != 0) return cudaErrorInvalidValue;
  const ResizeArgs args = {
      in.data,
      out,
      in.height,
      in.width,
      to_height,
      to_width,
      static_cast<float>(in.height) / static_cast<float>(to_height),
      static_cast<float>(in.width) / static_cast<float>(to_width)};
  const int strips = (to_height + kStripRows - 1) / kStripRows;
  const dim3 grid((strips * (to_width / 4) + kThreads - 1) / kThreads,
                  in.count * 3);
  ResizeKernel<<<grid, kThreads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace feedrate::fused
