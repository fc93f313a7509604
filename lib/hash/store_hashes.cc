#include "lib/hash/store_hashes.h"

#include <algorithm>
#include <cstring>

#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

// floor(2^32 * abs(sin(i + 1))), as in RFC 1321.
constexpr uint32_t kSines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr int kTurns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

uint32_t Load(const uint8_t* from) {
  return uint32_t{from[0]} | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16 |
         uint32_t{from[3]} << 24;
}

// One of the 64 steps. A template, so that the round is a compile-time constant
// and everything stays in registers.
template <int kStep>
inline void Step(const uint32_t words[16], uint32_t& a, uint32_t& b,
                 uint32_t& c, uint32_t& d) {
  constexpr int kRound = kStep / 16;
  constexpr int kWord[4] = {kStep, 5 * kStep + 1, 3 * kStep + 5, 7 * kStep};
  uint32_t mixed = 0;
  if (kRound == 0) mixed = d ^ (b & (c ^ d));
  if (kRound == 1) mixed = c ^ (d & (b ^ c));
  if (kRound == 2) mixed = b ^ c ^ d;
  if (kRound == 3) mixed = c ^ (b | ~d);
  const uint32_t sum = a + mixed + kSines[kStep] + words[kWord[kRound] % 16];
  constexpr int kTurn = kTurns[kRound][kStep % 4];
  a = d;
  d = c;
  c = b;
  b += sum << kTurn | sum >> (32 - kTurn);
}

template <int kStep>
inline void Steps(const uint32_t words[16], uint32_t& a, uint32_t& b,
                  uint32_t& c, uint32_t& d) {
  Step<kStep>(words, a, b, c, d);
  if constexpr (kStep < 63) Steps<kStep + 1>(words, a, b, c, d);
}

void AddBlocks(const uint8_t* data, size_t blocks, uint32_t state[4]) {
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  for (; blocks > 0; --blocks, data += Md5::kBlockSize) {
    uint32_t words[16];
    for (int i = 0; i < 16; ++i) words[i] = Load(data + 4 * i);
    const uint32_t before[4] = {a, b, c, d};
    Steps<0>(words, a, b, c, d);
    a += before[0];
    b += before[1];
    c += before[2];
    d += before[3];
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
}

}  // namespace

Md5::Md5() : state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476} {}

void Md5::Update(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t held = size_ % kBlockSize;
  size_ += size;
  if (held > 0) {
    const size_t taken = std::min(size, kBlockSize - held);
    std::memcpy(block_ + held, bytes, taken);
    if (held + taken < kBlockSize) return;
    AddBlocks(block_, 1, state_);
    bytes += taken;
    size -= taken;
  }
  AddBlocks(bytes, size / kBlockSize, state_);
  const size_t left = size % kBlockSize;
  if (left > 0) std::memcpy(block_, bytes + (size - left), left);
}

void Md5::Finish(uint8_t digest[kDigestSize]) {
  const uint64_t bits = size_ * 8;
  const uint8_t padding[kBlockSize] = {0x80};
  const size_t held = size_ % kBlockSize;
  Update(padding, (held < 56 ? 56 : 120) - held);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (8 * i));
  Update(length, sizeof(length));
  for (int i = 0; i < 16; ++i) {
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (8 * (i % 4)));
  }
}

namespace {

std::string Digest(const std::string& first, const std::string& second) {
  Sha256 hash;
  hash.Update(first.data(), first.size());
  hash.Update(second.data(), second.size());
  uint8_t digest[Sha256::kDigestSize];
  hash.Finish(digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

}  // namespace

std::string HmacSha256(const std::string& key, const std::string& message) {
  std::string block = key.size() > Sha256::kBlockSize ? Digest(key, "") : key;
  block.resize(Sha256::kBlockSize, '\0');
  std::string inner = block;
  std::string outer = block;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  return Digest(outer, Digest(inner, message));
}

}  // namespace feedrate
