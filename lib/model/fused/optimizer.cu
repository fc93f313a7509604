// The optimizers of the fused engine, over one arena of all parameters.
#include <cooperative_groups.h>

#include <algorithm>

#include "lib/model/fused/kernels.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {
namespace {

__global__ void CountStepKernel(float* steps) { *steps += 1; }

// What the gradients are multiplied with, as in torch's clip_grad_norm_.
__device__ __forceinline__ float ClipFactor(const OptimizerStep& a) {
  if (a.clip_norm <= 0) return 1;
  return fminf(1.f, a.clip_norm / (*a.norm + 1e-6f));
}

// Four values of a parameter and all that belongs to them.
struct FourValues {
  __device__ FourValues(const OptimizerStep& a, int64_t at)
      : value(Load(a.values + at)),
        first(Load(a.first + at)),
        second(Load(a.second + at)) {}
  float4 value, first, second;

  __device__ void AddGradient(const OptimizerStep& a, int64_t at) {
    const float4 g = Load(a.gradients + at) * ClipFactor(a);
    first = first + (g - first) * (1 - a.beta1);
    second = second * a.beta2 + g * g * (1 - a.beta2);
  }
};

// One block per chunk, four values per thread.
__device__ __forceinline__ int64_t PlaceOfThread(int64_t chunk) {
  return chunk * kChunk + threadIdx.x * 4;
}
__device__ __forceinline__ float DecayOf(const OptimizerStep& a,
                                         int64_t chunk) {
  return a.decays[chunk] ? a.weight_decay : 0;
}

// first / (sqrt(second) * root_factor + epsilon).
__device__ __forceinline__ float4 Direction(const FourValues& v,
                                            float root_factor, float epsilon) {
  const auto one = [&](float m, float s) {
    return m / (sqrtf(s) * root_factor + epsilon);
  };
  return make_float4(one(v.first.x, v.second.x), one(v.first.y, v.second.y),
                     one(v.first.z, v.second.z), one(v.first.w, v.second.w));
}

__global__ void __launch_bounds__(kThreads) AdamWKernel(OptimizerStep a) {
  const int64_t at = PlaceOfThread(blockIdx.x);
  const float rate = *a.learning_rate;
  const float steps = *a.steps;
  const float correction1 = 1 - powf(a.beta1, steps);
  const float correction2 = sqrtf(1 - powf(a.beta2, steps));
  FourValues v(a, at);
  v.AddGradient(a, at);
  v.value = v.value * (1 - rate * DecayOf(a, blockIdx.x)) -
            Direction(v, 1 / correction2, a.epsilon) * (rate / correction1);
  Store(a.values + at, v.value);
  Store(a.first + at, v.first);
  Store(a.second + at, v.second);
  Store(a.rounded + at, v.value);
}

// Where LAMB moves a value to before the ratio of norms is applied.
__device__ __forceinline__ float4 LambDirection(const OptimizerStep& a,
                                                const FourValues& v,
                                                int64_t chunk) {
  return Direction(v, 1, a.epsilon) + v.value * DecayOf(a, chunk);
}

// Moments, and the sums of squares of the values and the direction of a chunk.
__device__ __forceinline__ void LambMoments(const OptimizerStep& a,
                                            int64_t chunk, float* shared) {
  const int64_t at = PlaceOfThread(chunk);
  FourValues v(a, at);
  v.AddGradient(a, at);
  Store(a.first + at, v.first);
  Store(a.second + at, v.second);
  const float4 u = LambDirection(a, v, chunk);
  const float values = BlockReduce(Sum(v.value * v.value), false, shared);
  const float directions = BlockReduce(Sum(u * u), false, shared);
  if (threadIdx.x == 0) {
    a.chunk_squares[2 * chunk] = values;
    a.chunk_squares[2 * chunk + 1] = directions;
  }
}

// Adds up the squares of all chunks of the tensor, in the same order in each
// chunk, and moves the values.
__device__ __forceinline__ void LambMove(const OptimizerStep& a, int64_t chunk,
                                         float* shared) {
  const ChunkRange tensor = a.tensors[chunk];
  float values = 0, directions = 0;
  for (int i = tensor.first + threadIdx.x; i < tensor.end; i += kThreads) {
    values += a.chunk_squares[2 * i];
    directions += a.chunk_squares[2 * i + 1];
  }
  values = BlockReduce(values, false, shared);
  directions = BlockReduce(directions, false, shared);
  const float ratio =
      values > 0 && directions > 0 ? sqrtf(values / directions) : 1;
  const int64_t at = PlaceOfThread(chunk);
  FourValues v(a, at);
  v.value = v.value - LambDirection(a, v, chunk) * (*a.learning_rate * ratio);
  Store(a.values + at, v.value);
  Store(a.rounded + at, v.value);
}

// Launched with as many blocks as the device runs at once: no value moves
// before all squares are there.
__global__ void __launch_bounds__(kThreads) LambKernel(OptimizerStep a) {
  __shared__ float shared[kWarps];
  const int64_t chunks = a.count / kChunk;
  for (int64_t i = blockIdx.x; i < chunks; i += gridDim.x) {
    LambMoments(a, i, shared);
  }
  cooperative_groups::this_grid().sync();
  for (int64_t i = blockIdx.x; i < chunks; i += gridDim.x) {
    LambMove(a, i, shared);
  }
}

__global__ void RoundKernel(const float* __restrict__ in,
                            Bf16* __restrict__ out, int64_t fours) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < fours) Store(out + 4 * i, Load(in + 4 * i));
}

__global__ void SquaresKernel(const float* __restrict__ in, int64_t fours,
                              float* partial) {
  __shared__ float shared[kWarps];
  float sum = 0;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
       i < fours; i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const float4 v = Load(in + 4 * i);
    sum += Sum(v * v);
  }
  sum = BlockReduce(sum, false, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void RootKernel(const float* __restrict__ partial, int count,
                           float* out) {
  __shared__ float shared[kWarps];
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += partial[i];
  sum = BlockReduce(sum, false, shared);
  if (threadIdx.x == 0) *out = sqrtf(sum);
}

}  // namespace

void RunAdamW(const OptimizerStep& a, cudaStream_t s) {
  CountStepKernel<<<1, 1, 0, s>>>(a.steps);
  AdamWKernel<<<a.count / kChunk, kThreads, 0, s>>>(a);
  Check("adamw");
}

void RunLamb(const OptimizerStep& a, cudaStream_t s) {
  static const int kBlocks = [] {
    int device = 0, processors = 0, each = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, LambKernel, kThreads,
                                                  0);
    return processors * each;
  }();
  CountStepKernel<<<1, 1, 0, s>>>(a.steps);
  OptimizerStep step = a;
  void* arguments[] = {&step};
  cudaLaunchCooperativeKernel(
      reinterpret_cast<const void*>(LambKernel),
      static_cast<int>(std::min<int64_t>(kBlocks, a.count / kChunk)), kThreads,
      arguments, 0, s);
  Check("lamb");
}

void RoundToBf16(const float* in, Bf16* out, int64_t count, cudaStream_t s) {
  const int64_t fours = count / 4;
  RoundKernel<<<(fours + kThreads - 1) / kThreads, kThreads, 0, s>>>(in, out,
                                                                     fours);
  Check("round");
}

void Norm(const float* in, int64_t count, float* out, float* partial,
          cudaStream_t s) {
  constexpr int kNormBlocks = 1024;
  SquaresKernel<<<kNormBlocks, kThreads, 0, s>>>(in, count / 4, partial);
  RootKernel<<<1, kThreads, 0, s>>>(partial, kNormBlocks, out);
  Check("norm of gradients");
}

}  // namespace fused
}  // namespace feedrate
