// SHA-256 (FIPS 180-4), for ids and checksums.
//
// Uses the processor's SHA instructions where it has them (x86 SHA extensions,
// ARMv8 SHA-2), found at run time, and portable code elsewhere; the digest is
// the same. Needs nothing but libc, so that a static program can link it.
#ifndef FEEDRATE_LIB_HASH_SHA256_H_
#define FEEDRATE_LIB_HASH_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace feedrate {

// Digest of a message that arrives in pieces. Not thread-safe.
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

  // Writes the digest of all that was appended. The object may be used only
  // for assignment or destruction afterwards.
  void Finish(uint8_t digest[kDigestSize]);

  // As Finish, in lower-case hexadecimal with a terminating zero.
  void FinishHex(char hex[kHexSize + 1]);

 private:
  uint32_t state_[8];
  uint8_t block_[kBlockSize];  // The first `size_ % kBlockSize` bytes are set.
  uint64_t size_ = 0;          // Of the whole message, in bytes.
};

// Digest of one message in lower-case hexadecimal. Inline, so that only those
// who call it need std::string.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_HASH_SHA256_H_
