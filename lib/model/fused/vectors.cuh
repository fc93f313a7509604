// What the kernels of the fused engine share: four values at a time, sums over
// lanes, the numbers of a head. For .cu files only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "lib/model/fused/kernels.h"

namespace feedrate {
namespace fused {

constexpr int kWarp = 32;
// Warps per block of most kernels: eight rows in flight per block hide the
// latency of loads, and one block's partial sums stay small.
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
// Added under the root of every root mean square.
constexpr float kEpsilon = 1e-6f;

inline void Check(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " +
                             cudaGetErrorString(error));
  }
}

__device__ __forceinline__ float WarpSum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}

// Adds the sums of two lanes; each keeps one half of them.
template <int kKeep, int kOther, int kCount>
__device__ __forceinline__ void HalveSums(float (&sums)[kCount]) {
  const bool upper = threadIdx.x & kOther;
#pragma unroll
  for (int i = 0; i < kKeep; ++i) {
    const float give = upper ? sums[i] : sums[i + kKeep];
    const float mine = upper ? sums[i + kKeep] : sums[i];
    sums[i] = mine + __shfl_xor_sync(~0u, give, kOther);
  }
}

// Every thread of a block of kThreads gets the sum, or the largest value, of
// all. `shared` has kWarps floats.
__device__ __forceinline__ float BlockReduce(float v, bool max, float* shared) {
  for (int o = 16; o > 0; o >>= 1) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = max ? fmaxf(v, other) : v + other;
  }
  __syncthreads();
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = v;
  __syncthreads();
  v = shared[0];
  for (int i = 1; i < kWarps; ++i)
    v = max ? fmaxf(v, shared[i]) : v + shared[i];
  return v;
}

__device__ __forceinline__ float4 Load(const float* p) {
  return *reinterpret_cast<const float4*>(p);
}
__device__ __forceinline__ uint2 LoadRaw(const void* p) {
  return *static_cast<const uint2*>(p);
}
__device__ __forceinline__ float4 Values(uint2 raw) {
  const float2 a =
      __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&raw.x));
  const float2 b =
      __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&raw.y));
  return make_float4(a.x, a.y, b.x, b.y);
}
__device__ __forceinline__ float4 Load(const Bf16* p) {
  return Values(LoadRaw(p));
}
__device__ __forceinline__ void Store(float* p, float4 v) {
  *reinterpret_cast<float4*>(p) = v;
}
__device__ __forceinline__ void Store(Bf16* p, float4 v) {
  const __nv_bfloat162 a = __floats2bfloat162_rn(v.x, v.y);
  const __nv_bfloat162 b = __floats2bfloat162_rn(v.z, v.w);
  uint2 raw;
  raw.x = *reinterpret_cast<const unsigned*>(&a);
  raw.y = *reinterpret_cast<const unsigned*>(&b);
  *reinterpret_cast<uint2*>(p) = raw;
}
__device__ __forceinline__ float4 operator*(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ __forceinline__ float4 operator*(float4 a, float b) {
  return make_float4(a.x * b, a.y * b, a.z * b, a.w * b);
}
__device__ __forceinline__ float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ float4 operator-(float4 a, float4 b) {
  return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
__device__ __forceinline__ float Sum(float4 a) { return a.x + a.y + a.z + a.w; }

// What gradients are divided by later must not be zero.
__device__ __forceinline__ float NotZero(float v) {
  return fabsf(v) < 1e-20f ? copysignf(1e-20f, v) : v;
}
__device__ __forceinline__ float4 NotZero(float4 v) {
  return make_float4(NotZero(v.x), NotZero(v.y), NotZero(v.z), NotZero(v.w));
}
__device__ __forceinline__ float4 Inverse(float4 v) {
  return make_float4(1 / v.x, 1 / v.y, 1 / v.z, 1 / v.w);
}

// GELU in the tanh form, which cuBLASLt computes, and its slope. GELU itself
// differs from the exact one by at most 5e-4, its slope by at most 1e-3.
struct Gelu {
  __device__ explicit Gelu(float x) {
    constexpr float kA = 0.7978845608f, kB = 0.0356774081f;
    const float square = x * x;
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x * fmaf(kB, square, kA)));
    const float share = fmaf(0.5f, t, 0.5f);
    value = x * share;
    slope = fmaf(x * fmaf(1.5f * kB, square, 0.5f * kA), fmaf(-t, t, 1), share);
  }
  float value, slope;
};

constexpr int kHead = 64;
constexpr int kHalf = kHead / 2;
// Lanes per head: each has four values of either half.
constexpr int kHeadLanes = 8;

__device__ __forceinline__ float HeadSum(float v) {
#pragma unroll
  for (int o = kHeadLanes / 2; o > 0; o >>= 1) {
    v += __shfl_xor_sync(~0u, v, o);
  }
  return v;
}

}  // namespace fused
}  // namespace feedrate
