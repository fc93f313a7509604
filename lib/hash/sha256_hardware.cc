// Each architecture's version stands in its own guarded section; the target
// attribute lets the compiler emit the instructions in that function alone, so
// the program still starts on a processor without them.
#include "lib/hash/sha256_blocks.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

namespace feedrate {
namespace {

__attribute__((target("sha,sse4.1"))) void BlocksX86(uint32_t state[8],
                                                     const uint8_t* data,
                                                     size_t blocks) {
  const __m128i swap_bytes =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions want the state as two vectors, ABEF and CDGH.
  const __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  const __m128i hgfe =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);

  for (; blocks > 0; --blocks, data += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i),
          swap_bytes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {  // Four rounds each.
      const __m128i k = _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(kSha256RoundConstants) + i);
      const __m128i wk = _mm_add_epi32(w[i % 4], k);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
      if (i < 12) {
        const __m128i w7 = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
        const __m128i part =
            _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), w7);
        w[i % 4] = _mm_sha256msg2_epu32(part, w[(i + 3) % 4]);
      }
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state),
                   _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4),
                   _mm_alignr_epi8(dchg, feba, 8));
}

bool HasShaInstructions() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

}  // namespace

Sha256BlocksFn Sha256BlocksHardware() {
  return HasShaInstructions() ? BlocksX86 : nullptr;
}

}  // namespace feedrate

// Clang before 16 declares these only when the whole file is built for SHA-2.
#elif defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16)

#include <arm_neon.h>
#include <sys/auxv.h>

namespace feedrate {
namespace {

#ifdef __clang__
#define FEEDRATE_TARGET_SHA2 __attribute__((target("sha2")))
#else
#define FEEDRATE_TARGET_SHA2 __attribute__((target("+crypto")))
#endif

// A copy that the compiler keeps as the copy. vsha256hq overwrites its first
// operand; left to itself, the compiler lets it overwrite the copy, and a move
// stands in the chain of every round (Neoverse-V1: 1.27 GB/s instead of 1.65).
inline __attribute__((always_inline)) uint32x4_t CopyOf(uint32x4_t* value) {
  uint32x4_t copy;
  asm("mov %0.16b, %1.16b" : "=&w"(copy), "+w"(*value));
  return copy;
}

// Ends the compiler's freedom to move what makes `value` below this point.
inline __attribute__((always_inline)) void KeepAbove(uint32x4_t* value) {
  asm volatile("" : "+w"(*value));
}

FEEDRATE_TARGET_SHA2 void BlocksArm(uint32_t state[8], const uint8_t* data,
                                    size_t blocks) {
  uint32x4_t abcd = vld1q_u32(state);
  uint32x4_t efgh = vld1q_u32(state + 4);
  for (; blocks > 0; --blocks, data += 64) {
    const uint32x4_t abcd_before = CopyOf(&abcd);
    const uint32x4_t efgh_before = CopyOf(&efgh);
    uint32x4_t w[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data + 16 * i)));
    }
    uint32x4_t wk = vaddq_u32(w[0], vld1q_u32(kSha256RoundConstants));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {  // Four rounds each.
      // The next rounds' words are made ready while these rounds run.
      uint32x4_t next_wk = wk;
      if (i < 15) {
        next_wk = vaddq_u32(w[(i + 1) % 4],
                            vld1q_u32(kSha256RoundConstants + 4 * (i + 1)));
      }
      if (i < 12) w[i % 4] = vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]);
      const uint32x4_t abcd_old = CopyOf(&abcd);
      abcd = vsha256hq_u32(abcd, efgh, wk);
      efgh = vsha256h2q_u32(efgh, abcd_old, wk);
      if (i < 12) {
        w[i % 4] = vsha256su1q_u32(w[i % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
      }
      KeepAbove(&abcd);
      KeepAbove(&efgh);
      KeepAbove(&w[i % 4]);
      wk = next_wk;
      KeepAbove(&wk);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

// HWCAP_SHA2 of asm/hwcap.h, which a build for another libc may lack.
constexpr unsigned long kHwcapSha2 = 1UL << 6;

}  // namespace

Sha256BlocksFn Sha256BlocksHardware() {
  return (getauxval(AT_HWCAP) & kHwcapSha2) ? BlocksArm : nullptr;
}

}  // namespace feedrate

#else

namespace feedrate {
Sha256BlocksFn Sha256BlocksHardware() { return nullptr; }
}  // namespace feedrate

#endif
