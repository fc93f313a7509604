// Rounding to FP8, and the orders of rows and channels. For .cu files only.
#pragma once

#include <cuda_fp8.h>

#include "lib/model/fused/fp8.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {

// The row, of 128, at a place of a transposed tensor. A lane of the tensor
// cores has the rows g, g + 8, and the same 64 later, for columns of its own; a
// transposition of 8 x 8 gives it rows 2 t and 2 t + 1 instead of g. So this
// order lets each lane write eight bytes.
__host__ __device__ constexpr int Fp8Row(int place) {
  return (place >> 2 & 1) * 64 + (place >> 5) * 16 + (place >> 3 & 3) * 2 +
         (place >> 1 & 1) + (place & 1) * 8;
}

// The channel, of 32, in a row of weights with lane_rows: a lane's sums 2 t and
// 2 t + 1 of four groups of eight columns become eight channels side by side.
// Its own inverse.
__host__ __device__ constexpr int Fp8Channel(int row) {
  return (row >> 1 & 3) * 8 + (row >> 3) * 2 + (row & 1);
}

// Rounds the values of one thread by a scale and notes the largest one.
template <bool kGradient>
struct Fp8Rounding {
  static constexpr float kLimit = kGradient ? kE5m2Limit : kE4m3Limit;

  __device__ explicit Fp8Rounding(const Fp8Scale* from)
      : scale(from->scale), bound(kLimit * from->inverse) {}

  // Four bytes, the first value lowest. Call Watch for the values too.
  __device__ __forceinline__ uint32_t Round(float4 v) const {
    constexpr __nv_fp8_interpretation_t kType =
        kGradient ? __NV_E5M2 : __NV_E4M3;
    const uint32_t low = __nv_cvt_float2_to_fp8x2(
        make_float2(v.x * scale, v.y * scale), __NV_SATFINITE, kType);
    const uint32_t high = __nv_cvt_float2_to_fp8x2(
        make_float2(v.z * scale, v.w * scale), __NV_SATFINITE, kType);
    return low | high << 16;
  }

  // Notes values. Of many at a time, because it branches.
  template <int kCount>
  __device__ __forceinline__ void Watch(const float4 (&values)[kCount]) {
    float most = 0;
#pragma unroll
    for (const float4& v : values) {
      most = fmaxf(most, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)),
                               fmaxf(fabsf(v.z), fabsf(v.w))));
    }
    largest = fmaxf(largest, most);
    if (most <= bound) return;
#pragma unroll
    for (const float4& v : values) {
      clipped += (fabsf(v.x) > bound) + (fabsf(v.y) > bound) +
                 (fabsf(v.z) > bound) + (fabsf(v.w) > bound);
    }
  }

  // Tells the scale. All threads of a warp call it.
  __device__ void Note(Fp8Scale* to) {
    unsigned count = clipped;
    for (int o = 16; o > 0; o >>= 1) {
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, o));
      count += __shfl_xor_sync(~0u, count, o);
    }
    if (threadIdx.x % kWarp != 0) return;
    // Most are not larger than what is there; equal addresses take their turns.
    const unsigned bits = __float_as_uint(largest);
    if (bits > *static_cast<volatile unsigned*>(&to->largest)) {
      atomicMax(&to->largest, bits);
    }
    if (count > 0) {
      atomicAdd(&to->clipped, static_cast<unsigned long long>(count));
    }
  }

  float scale, bound;
  float largest = 0;
  unsigned clipped = 0;
};

// Bytes 4 i + j of four words become bytes 4 j + i.
__device__ __forceinline__ void TransposeBytes(uint32_t (&w)[4]) {
  const uint32_t a = __byte_perm(w[0], w[1], 0x5140);
  const uint32_t b = __byte_perm(w[2], w[3], 0x5140);
  const uint32_t c = __byte_perm(w[0], w[1], 0x7362);
  const uint32_t d = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(a, b, 0x5410);
  w[1] = __byte_perm(a, b, 0x7632);
  w[2] = __byte_perm(c, d, 0x5410);
  w[3] = __byte_perm(c, d, 0x7632);
}

}  // namespace fused
}  // namespace feedrate
