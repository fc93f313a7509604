// SHA-256 (FIPS 180-4), for ids and checksums.
//
// Uses the processor's SHA instructions where it has them (x86 SHA extensions,
// ARMv8 SHA-2), detected at run time, and portable code elsewhere; the digest
// is the same. Depends only on libc, so that static programs can link it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace feedrate {

// Computes the digest of a message that arrives in pieces. Not thread-safe.
//
//   Sha256 hash;
//   hash.Update(a, a_size);
//   hash.Update(b, b_size);
//   char hex[Sha256::kHexSize + 1];
//   hash.FinishHex(hex);
class Sha256 {
 public:
  static constexpr size_t kDigestSize = 32;
  static constexpr size_t kHexSize = 2 * kDigestSize;
  static constexpr size_t kBlockSize = 64;

  Sha256();

  // Appends `size` bytes to the message. `data` may be null when `size` is 0.
  void Update(const void* data, size_t size);

  // Writes the digest of everything appended so far. Afterwards the object can
  // only be assigned to or destroyed.
  void Finish(uint8_t digest[kDigestSize]);

  // Like Finish, but as lower-case hexadecimal with a terminating zero.
  void FinishHex(char hex[kHexSize + 1]);

 private:
  uint32_t state_[8];
  uint8_t block_[kBlockSize];  // The first `size_ % kBlockSize` bytes are set.
  uint64_t size_ = 0;          // The whole message, in bytes.
};

// Returns the digest of one message in lower-case hexadecimal. Inline, so that
// only callers need std::string.
inline std::string Sha256Hex(const void* data, size_t size) {
  Sha256 hash;
  hash.Update(data, size);
  char hex[Sha256::kHexSize + 1];
  hash.FinishHex(hex);
  return std::string(hex, Sha256::kHexSize);
}

inline std::string Sha256Hex(const std::string& message) {
  return Sha256Hex(message.data(), message.size());
}

// Internal: the compression function, declared here for the test.

// Folds `blocks` blocks of 64 bytes at `data` (any alignment) into `state`.
using Sha256BlocksFn = void (*)(uint32_t state[8], const uint8_t* data,
                                size_t blocks);

void Sha256BlocksPortable(uint32_t state[8], const uint8_t* data,
                          size_t blocks);

// Returns the version that uses this processor's SHA instructions, or null if
// it has none.
Sha256BlocksFn Sha256BlocksHardware();

}  // namespace feedrate
