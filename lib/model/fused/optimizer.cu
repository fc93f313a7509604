// The optimizers of the fused engine, over one arena of all parameters.
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
__device__ __forceinline__ int64_t PlaceOfThread() {
  return (blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x) * 4;
}
__device__ __forceinline__ float DecayOfBlock(const OptimizerStep& a) {
  return a.decays[blockIdx.x] ? a.weight_decay : 0;
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
  const int64_t at = PlaceOfThread();
  const float rate = *a.learning_rate;
  const float steps = *a.steps;
  const float correction1 = 1 - powf(a.beta1, steps);
  const float correction2 = sqrtf(1 - powf(a.beta2, steps));
  FourValues v(a, at);
  v.AddGradient(a, at);
  v.value = v.value * (1 - rate * DecayOfBlock(a)) -
            Direction(v, 1 / correction2, a.epsilon) * (rate / correction1);
  Store(a.values + at, v.value);
  Store(a.first + at, v.first);
  Store(a.second + at, v.second);
  Store(a.rounded + at, v.value);
}

// Where LAMB moves a value to before the ratio of norms is applied.
__device__ __forceinline__ float4 LambDirection(const OptimizerStep& a,
                                                const FourValues& v) {
  return Direction(v, 1, a.epsilon) + v.value * DecayOfBlock(a);
}

// Moments, and the sums of squares of the values and the direction of a chunk.
__global__ void __launch_bounds__(kThreads) LambMomentsKernel(OptimizerStep a) {
  __shared__ float shared[kWarps];
  const int64_t at = PlaceOfThread();
  FourValues v(a, at);
  v.AddGradient(a, at);
  Store(a.first + at, v.first);
  Store(a.second + at, v.second);
  const float4 u = LambDirection(a, v);
  const float values = BlockReduce(Sum(v.value * v.value), false, shared);
  const float directions = BlockReduce(Sum(u * u), false, shared);
  if (threadIdx.x == 0) {
    a.chunk_squares[2 * blockIdx.x] = values;
    a.chunk_squares[2 * blockIdx.x + 1] = directions;
  }
}

// Each block adds up the squares of all chunks of its tensor, in the same
// order.
__global__ void __launch_bounds__(kThreads) LambStepKernel(OptimizerStep a) {
  __shared__ float shared[kWarps];
  const ChunkRange tensor = a.tensors[blockIdx.x];
  float values = 0, directions = 0;
  for (int i = tensor.first + threadIdx.x; i < tensor.end; i += kThreads) {
    values += a.chunk_squares[2 * i];
    directions += a.chunk_squares[2 * i + 1];
  }
  values = BlockReduce(values, false, shared);
  directions = BlockReduce(directions, false, shared);
  const float ratio =
      values > 0 && directions > 0 ? sqrtf(values / directions) : 1;
  const int64_t at = PlaceOfThread();
  FourValues v(a, at);
  v.value = v.value - LambDirection(a, v) * (*a.learning_rate * ratio);
  Store(a.values + at, v.value);
  Store(a.rounded + at, v.value);
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
  CountStepKernel<<<1, 1, 0, s>>>(a.steps);
  LambMomentsKernel<<<a.count / kChunk, kThreads, 0, s>>>(a);
  LambStepKernel<<<a.count / kChunk, kThreads, 0, s>>>(a);
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
