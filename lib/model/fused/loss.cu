// The loss of the fused engine, and sums over rows.
#include "lib/model/fused/kernels.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {
namespace {

__global__ void __launch_bounds__(kThreads)
    CrossEntropyKernel(const float* __restrict__ logits,
                       const int64_t* __restrict__ labels,
                       const float* __restrict__ probabilities, float* row_loss,
                       Bf16* __restrict__ dlogits, int classes, float factor) {
  __shared__ float shared[kWarps];
  const int64_t row = blockIdx.x;
  const float* const z = logits + row * classes;
  float top = -INFINITY;
  for (int c = threadIdx.x; c < classes; c += kThreads) top = fmaxf(top, z[c]);
  top = BlockReduce(top, true, shared);
  float sum = 0, target_z = 0, mass = 0;
  for (int c = threadIdx.x; c < classes; c += kThreads) {
    sum += expf(z[c] - top);
    if (probabilities != nullptr) {
      const float p = probabilities[row * classes + c];
      target_z += p * (z[c] - top);
      mass += p;
    }
  }
  sum = BlockReduce(sum, false, shared);
  if (probabilities != nullptr) {
    target_z = BlockReduce(target_z, false, shared);
    mass = BlockReduce(mass, false, shared);
  } else {
    target_z = z[labels[row]] - top;
    mass = 1;
  }
  const float log_sum = logf(sum);
  if (threadIdx.x == 0) row_loss[row] = mass * log_sum - target_z;
  for (int c = threadIdx.x; c < classes; c += kThreads) {
    const float p = probabilities != nullptr ? probabilities[row * classes + c]
                                             : (c == labels[row] ? 1.f : 0.f);
    dlogits[row * classes + c] =
        __float2bfloat16(factor * (mass * expf(z[c] - top) / sum - p));
  }
}

// A warp for each row of at most kFewClasses, which stay in registers.
constexpr int kFewClasses = 256;
__global__ void __launch_bounds__(kThreads)
    FewClassesKernel(const float* __restrict__ logits,
                     const int64_t* __restrict__ labels, float* row_loss,
                     Bf16* __restrict__ dlogits, int64_t rows, int classes,
                     float factor) {
  constexpr int kEach = kFewClasses / kWarp;
  const int64_t row =
      blockIdx.x * static_cast<int64_t>(kWarps) + threadIdx.x / kWarp;
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  const int label = labels[row];
  const float target_z = logits[row * classes + label];
  float z[kEach], top = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int c = i * kWarp + lane;
    z[i] = c < classes ? logits[row * classes + c] : -INFINITY;
    top = fmaxf(top, z[i]);
  }
  for (int o = kWarp / 2; o > 0; o >>= 1) {
    top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    z[i] = expf(z[i] - top);
    sum += z[i];
  }
  sum = WarpSum(sum);
  if (lane == 0) row_loss[row] = logf(sum) - (target_z - top);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int c = i * kWarp + lane;
    if (c < classes) {
      dlogits[row * classes + c] =
          __float2bfloat16(factor * (z[i] / sum - (c == label ? 1.f : 0.f)));
    }
  }
}

__global__ void SumKernel(const float* __restrict__ values, int64_t count,
                          float factor, bool accumulate, float* out) {
  __shared__ float shared[kWarps];
  float sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += values[i];
  sum = BlockReduce(sum, false, shared);
  if (threadIdx.x == 0) *out = (accumulate ? *out : 0) + factor * sum;
}

__global__ void SumRowsKernel(const Bf16* __restrict__ in, int64_t rows,
                              int width, float* partial) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= width) return;
  float sum = 0;
  for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    sum += __bfloat162float(in[r * width + j]);
  }
  partial[blockIdx.y * width + j] = sum;
}

}  // namespace

void CrossEntropy(const float* logits, const int64_t* labels,
                  const float* probabilities, float* row_loss, Bf16* dlogits,
                  int64_t rows, int64_t classes, float factor, cudaStream_t s) {
  if (labels != nullptr && classes <= kFewClasses) {
    FewClassesKernel<<<(rows + kWarps - 1) / kWarps, kThreads, 0, s>>>(
        logits, labels, row_loss, dlogits, rows, classes, factor);
  } else {
    CrossEntropyKernel<<<rows, kThreads, 0, s>>>(
        logits, labels, probabilities, row_loss, dlogits, classes, factor);
  }
  Check("cross entropy");
}

void SumTo(const float* values, int64_t count, float factor, bool accumulate,
           float* out, cudaStream_t s) {
  SumKernel<<<1, kThreads, 0, s>>>(values, count, factor, accumulate, out);
  Check("sum");
}

void SumRows(const Bf16* in, int64_t rows, int64_t width, bool accumulate,
             float* out, SumList* sums, cudaStream_t s) {
  constexpr int kRowParts = 128;
  float* const partial = sums->Take(kRowParts * width);
  SumRowsKernel<<<dim3((width + 127) / 128, kRowParts), 128, 0, s>>>(
      in, rows, width, partial);
  Check("sum of rows");
  sums->Add(partial, kRowParts, width, width, out, accumulate);
}

}  // namespace fused
}  // namespace feedrate
