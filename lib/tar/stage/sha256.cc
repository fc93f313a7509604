#include "lib/tar/stage/sha256.h"

#include <algorithm>
#include <cstring>

#include "lib/tar/stage/sha256_engines.h"

namespace feedrate::tar {
namespace {

constexpr uint32_t kInitial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                  0xa54ff53a, 0x510e527f, 0x9b05688c,
                                  0x1f83d9ab, 0x5be0cd19};

}  // namespace

const std::vector<Sha256Engine>& Sha256Engines() {
  static const auto* engines = [] {
    auto* list = new std::vector<Sha256Engine>;
    if (Sha256Blocks blocks = HardwareSha256()) {
      list->push_back({"hardware", blocks});
    }
    list->push_back({"portable", &PortableSha256});
    return list;
  }();
  return *engines;
}

Sha256::Sha256(const Sha256Engine& engine) : blocks_(engine.blocks) {
  memcpy(state_, kInitial, sizeof(state_));
}

void Sha256::Update(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t held = size_ % sizeof(tail_);
  size_ += size;
  if (held > 0) {
    const size_t count = std::min(size, sizeof(tail_) - held);
    memcpy(tail_ + held, bytes, count);
    if (held + count < sizeof(tail_)) return;
    blocks_(state_, tail_, 1);
    bytes += count;
    size -= count;
  }
  if (size >= sizeof(tail_)) blocks_(state_, bytes, size / sizeof(tail_));
  const size_t rest = size % sizeof(tail_);
  if (rest > 0) memcpy(tail_, bytes + size - rest, rest);
}

std::string Sha256::Finish() {
  // A one bit, zeros, and the length in bits, to whole blocks.
  const uint64_t bits = size_ * 8;
  uint8_t end[72] = {0x80};
  const size_t zeros = (size_ % 64 < 56 ? 55 : 119) - size_ % 64;
  for (int i = 0; i < 8; ++i) {
    end[1 + zeros + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  }
  Update(end, 1 + zeros + 8);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string digest;
  for (uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      digest.push_back(kHex[(word >> shift) & 15]);
    }
  }
  return digest;
}

bool IsSha256(const std::string& text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace feedrate::tar
