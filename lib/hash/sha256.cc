#include "lib/hash/sha256.h"

#include <cstring>

// Clang before 16 declares the ARM instructions only when the whole file is
// built for SHA-2.
#if defined(__x86_64__)
#define FEEDRATE_SHA_X86
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16)
#define FEEDRATE_SHA_ARM
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace feedrate {
namespace {

constexpr uint32_t kInitialState[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                       0xa54ff53a, 0x510e527f, 0x9b05688c,
                                       0x1f83d9ab, 0x5be0cd19};

void AddBlocks(uint32_t state[8], const uint8_t* data, size_t blocks) {
  static const Sha256BlocksFn fastest = [] {
    const Sha256BlocksFn hardware = Sha256BlocksHardware();
    return hardware != nullptr ? hardware : Sha256BlocksPortable;
  }();
  fastest(state, data, blocks);
}

void StoreBigEndian(uint32_t value, uint8_t* out) {
  for (int i = 0; i < 4; ++i) out[i] = value >> (24 - 8 * i);
}

}  // namespace

Sha256::Sha256() { std::memcpy(state_, kInitialState, sizeof(state_)); }

void Sha256::Update(const void* data, size_t size) {
  if (size == 0) return;
  const uint8_t* next = static_cast<const uint8_t*>(data);
  const size_t held = size_ % kBlockSize;
  size_ += size;
  if (held > 0) {
    const size_t room = kBlockSize - held;
    const size_t taken = size < room ? size : room;
    std::memcpy(block_ + held, next, taken);
    if (taken < room) return;
    AddBlocks(state_, block_, 1);
    next += taken;
    size -= taken;
  }
  const size_t blocks = size / kBlockSize;
  if (blocks > 0) AddBlocks(state_, next, blocks);
  const size_t rest = size % kBlockSize;
  if (rest > 0) std::memcpy(block_, next + blocks * kBlockSize, rest);
}

void Sha256::Finish(uint8_t digest[kDigestSize]) {
  constexpr size_t kLengthSize = 8;
  const uint64_t bits = size_ * 8;
  const size_t held = size_ % kBlockSize;
  uint8_t tail[2 * kBlockSize] = {};
  std::memcpy(tail, block_, held);
  tail[held] = 0x80;
  const size_t blocks = held + 1 + kLengthSize <= kBlockSize ? 1 : 2;
  uint8_t* const length = tail + blocks * kBlockSize - kLengthSize;
  StoreBigEndian(bits >> 32, length);
  StoreBigEndian(bits & 0xffffffff, length + 4);
  AddBlocks(state_, tail, blocks);
  for (int i = 0; i < 8; ++i) StoreBigEndian(state_[i], digest + 4 * i);
}

void Sha256::FinishHex(char hex[kHexSize + 1]) {
  static constexpr char kDigits[] = "0123456789abcdef";
  uint8_t digest[kDigestSize];
  Finish(digest);
  for (size_t i = 0; i < kDigestSize; ++i) {
    hex[2 * i] = kDigits[digest[i] >> 4];
    hex[2 * i + 1] = kDigits[digest[i] & 15];
  }
  hex[kHexSize] = '\0';
}

namespace {

constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t Rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

uint32_t LoadBigEndian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 |
         uint32_t{p[3]};
}

void FillSchedule(const uint8_t* block, uint32_t w[64]) {
  for (int t = 0; t < 16; ++t) w[t] = LoadBigEndian(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const uint32_t a = w[t - 15];
    const uint32_t b = w[t - 2];
    w[t] = w[t - 16] + (Rotate(a, 7) ^ Rotate(a, 18) ^ a >> 3) + w[t - 7] +
           (Rotate(b, 17) ^ Rotate(b, 19) ^ b >> 10);
  }
}

void AddBlock(uint32_t state[8], const uint8_t* block) {
  uint32_t w[64];
  FillSchedule(block, w);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; ++t) {
    const uint32_t sum_e = Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t t1 = h + sum_e + choice + kRoundConstants[t] + w[t];
    const uint32_t sum_a = Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + sum_a + majority;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

}  // namespace

void Sha256BlocksPortable(uint32_t state[8], const uint8_t* data,
                          size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) AddBlock(state, data);
}

// Each architecture has its own section. The target attribute limits the SHA
// instructions to one function, so that the program still runs on a processor
// without them.

#if defined(FEEDRATE_SHA_X86)

namespace {

__attribute__((target("sha,sse4.1"))) void BlocksX86(uint32_t state[8],
                                                     const uint8_t* data,
                                                     size_t blocks) {
  const __m128i swap_bytes =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions take the state as two vectors, ABEF and CDGH.
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
          reinterpret_cast<const __m128i*>(kRoundConstants) + i);
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

#elif defined(FEEDRATE_SHA_ARM)

namespace {

#ifdef __clang__
#define FEEDRATE_TARGET_SHA2 __attribute__((target("sha2")))
#else
#define FEEDRATE_TARGET_SHA2 __attribute__((target("+crypto")))
#endif

// Makes a copy that the compiler must keep as the copy. vsha256hq overwrites
// its first operand; otherwise the compiler lets it overwrite the copy, which
// adds a move to the critical path of every round (Neoverse-V1: 1.27 GB/s
// instead of 1.65).
inline __attribute__((always_inline)) uint32x4_t CopyOf(uint32x4_t* value) {
  uint32x4_t copy;
  asm("mov %0.16b, %1.16b" : "=&w"(copy), "+w"(*value));
  return copy;
}

// Keeps the compiler from moving the computation of `value` below this point.
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
    uint32x4_t wk = vaddq_u32(w[0], vld1q_u32(kRoundConstants));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {  // Four rounds each.
      // Prepare the words of the next rounds while these rounds run.
      uint32x4_t next_wk = wk;
      if (i < 15) {
        next_wk =
            vaddq_u32(w[(i + 1) % 4], vld1q_u32(kRoundConstants + 4 * (i + 1)));
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

// HWCAP_SHA2 of asm/hwcap.h, which is missing in some libcs.
constexpr unsigned long kHwcapSha2 = 1UL << 6;

}  // namespace

Sha256BlocksFn Sha256BlocksHardware() {
  return (getauxval(AT_HWCAP) & kHwcapSha2) ? BlocksArm : nullptr;
}

#else

Sha256BlocksFn Sha256BlocksHardware() { return nullptr; }

#endif

}  // namespace feedrate
