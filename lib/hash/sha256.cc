#include "lib/hash/sha256.h"

#include <cstring>

#include "lib/hash/sha256_blocks.h"

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

}  // namespace feedrate
