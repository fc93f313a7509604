// Wide reads and writes of pixels. Only for kernels.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/cuda/kernels/color_math.h"

namespace feedrate::fused {

// Four pixels of bytes: r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3.
struct Quad {
  uint32_t words[3];
};

// Loads twelve bytes from any address, by aligned words. Reads no word that has
// none of the twelve.
__device__ __forceinline__ Quad LoadQuad(const uint8_t* at) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  const uint32_t offset = address & 3;
  const auto* words = reinterpret_cast<const uint32_t*>(address - offset);
  const uint32_t a = __ldg(words);
  const uint32_t b = __ldg(words + 1);
  const uint32_t c = __ldg(words + 2);
  const uint32_t d = __ldg(words + (offset == 0 ? 2 : 3));
  const uint32_t shift = offset * 8;
  return {{__funnelshift_r(a, b, shift), __funnelshift_r(b, c, shift),
           __funnelshift_r(c, d, shift)}};
}

// Loads three bytes from any address, the first in the lowest bits.
__device__ __forceinline__ uint32_t LoadPixel(const uint8_t* at) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  const uint32_t offset = address & 3;
  const auto* words = reinterpret_cast<const uint32_t*>(address - offset);
  const uint32_t a = __ldg(words);
  const uint32_t b = offset >= 2 ? __ldg(words + 1) : 0;
  return __funnelshift_r(a, b, offset * 8) & 0xffffff;
}

// Two pixels of bytes: r0 g0 b0 r1 | g1 b1.
struct PixelPair {
  uint32_t low;
  uint32_t high;
};

__device__ __forceinline__ PixelPair PairOf(uint32_t first, uint32_t second) {
  return {first | second << 24, second >> 8};
}

// Memory as aligned words, of which byte `start` is the first.
struct Words {
  const uint32_t* words;
  uint32_t start;
};

__device__ __forceinline__ Words WordsOf(const uint8_t* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return {reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3}),
          static_cast<uint32_t>(address & 3)};
}

// The same from byte `at` of such words, with fewer instructions.
__device__ __forceinline__ Quad LoadQuadAt(const uint32_t* words, uint32_t at) {
  const uint32_t* first = words + (at >> 2);
  const uint32_t a = __ldg(first);
  const uint32_t b = __ldg(first + 1);
  const uint32_t c = __ldg(first + 2);
  const uint32_t d = __ldg(words + ((at + 11) >> 2));
  // Shifts count modulo 32.
  return {{__funnelshift_r(a, b, at * 8), __funnelshift_r(b, c, at * 8),
           __funnelshift_r(c, d, at * 8)}};
}
__device__ __forceinline__ PixelPair LoadPairAt(const uint32_t* words,
                                                uint32_t at) {
  const uint32_t* first = words + (at >> 2);
  const uint32_t a = __ldg(first);
  const uint32_t b = __ldg(first + 1);
  const uint32_t c = (at & 3) == 3 ? __ldg(first + 2) : 0;
  return {__funnelshift_r(a, b, at * 8), __funnelshift_r(b, c, at * 8)};
}
// The second pixel is not read.
__device__ __forceinline__ PixelPair LoadPixelAt(const uint32_t* words,
                                                 uint32_t at) {
  const uint32_t a = __ldg(words + (at >> 2));
  const uint32_t b = __ldg(words + ((at + 2) >> 2));
  return {__funnelshift_r(a, b, at * 8) & 0xffffff, 0};
}

// 2^23, whose mantissa holds a byte.
constexpr float kByteBias = 8388608;

// Byte `k` of `word` as a float. Uses the mantissa of 2^23: conversions run at
// a quarter of the rate of other instructions.
__device__ __forceinline__ float ByteOf(uint32_t word, int k) {
  return __uint_as_float(__byte_perm(word, 0x4B000000, 0x7650 + k)) - kByteBias;
}

// Pixel `k` of a quad, the first byte in the lowest bits. REQUIRES: k is a
// constant.
__device__ __forceinline__ uint32_t PixelOf(const Quad& quad, int k) {
  const uint32_t* w = quad.words;
  if (k == 0) return w[0] & 0xffffff;
  if (k == 1) return __byte_perm(w[0], w[1], 0x7543) & 0xffffff;
  if (k == 2) return __byte_perm(w[1], w[2], 0x7432) & 0xffffff;
  return w[2] >> 8;
}

__device__ __forceinline__ Rgb ColorOf(uint32_t pixel) {
  constexpr float kScale = 1.0f / 255;
  return {ByteOf(pixel, 0) * kScale, ByteOf(pixel, 1) * kScale,
          ByteOf(pixel, 2) * kScale};
}

// The nearest integer, halves to even. REQUIRES: 0 <= value <= 255.
__device__ __forceinline__ float RoundedLevel(float value) {
  return __fadd_rn(value, kByteBias) - kByteBias;
}

// Weights are fractions of this: 16 bits each.
constexpr float kWhole = 65535;

__device__ __forceinline__ uint32_t PackWeights(float a, float b) {
  return __float2uint_rn(a * kWhole) | __float2uint_rn(b * kWhole) << 16;
}

// Interpolates between two pixels, in kWhole-ths of a level.
__device__ __forceinline__ void Interpolate(const PixelPair& pair,
                                            uint32_t weights, float v[3]) {
  const uint32_t reds_greens = __byte_perm(pair.low, pair.high, 0x4130);
  const uint32_t blues = __byte_perm(pair.low, pair.high, 0x0052);
  v[0] = static_cast<float>(__dp2a_lo(weights, reds_greens, 0u));
  v[1] = static_cast<float>(__dp2a_hi(weights, reds_greens, 0u));
  v[2] = static_cast<float>(__dp2a_lo(weights, blues, 0u));
}

// A pixel of three levels, rounded to the nearest bytes.
__device__ __forceinline__ uint32_t PackLevels(const float v[3]) {
  uint32_t bits[3];
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    bits[c] = __float_as_uint(__fadd_rn(v[c], kByteBias));
  }
  // The fourth byte of 2^23 is 0x4b, its third 0.
  return __byte_perm(__byte_perm(bits[0], bits[1], 0x2240), bits[2], 0x2410);
}

// Rounds values 0..255 to the nearest bytes.
__device__ __forceinline__ uint32_t PackBytes(float r, float g, float b) {
  return ToByte(r) | ToByte(g) << 8 | ToByte(b) << 16;
}

__device__ __forceinline__ void StorePixel(uint8_t* at, uint32_t pixel) {
  at[0] = static_cast<uint8_t>(pixel);
  at[1] = static_cast<uint8_t>(pixel >> 8);
  at[2] = static_cast<uint8_t>(pixel >> 16);
}

// Stores the first `count` of four pixels.
__device__ __forceinline__ void StorePixels(uint8_t* at, const uint32_t p[4],
                                            int count) {
  if (count >= 4 && (reinterpret_cast<uintptr_t>(at) & 3) == 0) {
    auto* words = reinterpret_cast<uint32_t*>(at);
    __stcs(words, p[0] | p[1] << 24);
    __stcs(words + 1, p[1] >> 8 | p[2] << 16);
    __stcs(words + 2, p[2] >> 16 | p[3] << 8);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k < count) StorePixel(at + 3 * k, p[k]);
  }
}

// Stores four elements, bypassing the caches. REQUIRES: `at` is aligned to four
// elements.
__device__ __forceinline__ void StoreFour(float* at, const float v[4]) {
  __stcs(reinterpret_cast<float4*>(at), make_float4(v[0], v[1], v[2], v[3]));
}
__device__ __forceinline__ void StoreFour(__half* at, const float v[4]) {
  const __half2 a = __floats2half2_rn(v[0], v[1]);
  const __half2 b = __floats2half2_rn(v[2], v[3]);
  __stcs(reinterpret_cast<uint2*>(at),
         make_uint2(*reinterpret_cast<const uint32_t*>(&a),
                    *reinterpret_cast<const uint32_t*>(&b)));
}
__device__ __forceinline__ void StoreFour(__nv_bfloat16* at, const float v[4]) {
  const __nv_bfloat162 a = __floats2bfloat162_rn(v[0], v[1]);
  const __nv_bfloat162 b = __floats2bfloat162_rn(v[2], v[3]);
  __stcs(reinterpret_cast<uint2*>(at),
         make_uint2(*reinterpret_cast<const uint32_t*>(&a),
                    *reinterpret_cast<const uint32_t*>(&b)));
}
__device__ __forceinline__ void StoreFour(uint8_t* at, const float v[4]) {
  __stcs(reinterpret_cast<uint32_t*>(at),
         PackBytes(v[0], v[1], v[2]) | uint32_t{ToByte(v[3])} << 24);
}

#if __CUDA_ARCH__ >= 800
// Copies 16 bytes from memory to shared memory without registers; any number
// may be in flight. The thread that called it may read them after
// WaitForCopies.
__device__ __forceinline__ void CopyAhead(float4* shared, const float4* from) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from)
               : "memory");
}
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
#else
__device__ __forceinline__ void CopyAhead(float4* shared, const float4* from) {
  *shared = *from;
}
__device__ __forceinline__ void WaitForCopies() {}
#endif

__device__ __forceinline__ void StoreOne(float* at, float v) { *at = v; }
__device__ __forceinline__ void StoreOne(__half* at, float v) {
  *at = __float2half_rn(v);
}
__device__ __forceinline__ void StoreOne(__nv_bfloat16* at, float v) {
  *at = __float2bfloat16_rn(v);
}
__device__ __forceinline__ void StoreOne(uint8_t* at, float v) {
  *at = ToByte(v);
}

}  // namespace feedrate::fused
