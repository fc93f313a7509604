// Hashes that object stores require: MD5 (RFC 1321) checksums, which detect
// transfer errors but not tampering, and HMAC-SHA-256 (RFC 2104) for signed
// requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace feedrate {

// Computes the digest of a message that arrives in pieces. Not thread-safe.
class Md5 {
 public:
  static constexpr size_t kDigestSize = 16;
  static constexpr size_t kBlockSize = 64;

  Md5();

  // Appends `size` bytes to the message. `data` may be null when `size` is 0.
  void Update(const void* data, size_t size);

  // Writes the digest of everything appended so far. Afterwards the object can
  // only be assigned to or destroyed.
  void Finish(uint8_t digest[kDigestSize]);

 private:
  uint32_t state_[4];
  uint8_t block_[kBlockSize];  // The first `size_ % kBlockSize` bytes are set.
  uint64_t size_ = 0;          // The whole message, in bytes.
};

// Returns the 32 raw bytes, not hexadecimal, because they are the key of the
// next round.
std::string HmacSha256(const std::string& key, const std::string& message);

}  // namespace feedrate
