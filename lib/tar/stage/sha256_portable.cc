#include "lib/tar/stage/sha256_engines.h"

namespace feedrate::tar {

alignas(16) const uint32_t kSha256Constants[64] = {
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

namespace {

uint32_t Rotate(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

uint32_t Load(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 |
         p[3];
}

inline void Round(uint32_t a, uint32_t b, uint32_t c, uint32_t* d, uint32_t e,
                  uint32_t f, uint32_t g, uint32_t* h, uint32_t word) {
  const uint32_t t1 = *h + (Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25)) +
                      ((e & f) ^ (~e & g)) + word;
  const uint32_t t2 = (Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
  *d += t1;
  *h = t1 + t2;
}

void Block(uint32_t state[8], const uint8_t* data) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = Load(data + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15];
    const uint32_t b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (Rotate(a, 7) ^ Rotate(a, 18) ^ (a >> 3)) +
           (Rotate(b, 17) ^ Rotate(b, 19) ^ (b >> 10));
  }
  uint32_t s[8];
  for (int i = 0; i < 8; ++i) s[i] = state[i];
  for (int i = 0; i < 64; i += 8) {
    // Eight rounds, in which the letters come round once: unrolled, nothing
    // has to be moved.
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      Round(s[(0 - j) & 7], s[(1 - j) & 7], s[(2 - j) & 7], &s[(3 - j) & 7],
            s[(4 - j) & 7], s[(5 - j) & 7], s[(6 - j) & 7], &s[(7 - j) & 7],
            kSha256Constants[i + j] + w[i + j]);
    }
  }
  for (int i = 0; i < 8; ++i) state[i] += s[i];
}

}  // namespace

void PortableSha256(uint32_t state[8], const uint8_t* data, size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) Block(state, data);
}

}  // namespace feedrate::tar
