// MD5 (RFC 1321), for the checksums that object stores hand out. It proves that
// bytes arrived as they left; against an attacker it proves nothing.
#ifndef FEEDRATE_LIB_HASH_MD5_H_
#define FEEDRATE_LIB_HASH_MD5_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

// Digest of a message that arrives in pieces. Not thread-safe.
class Md5 {
 public:
  static constexpr size_t kDigestSize = 16;
  static constexpr size_t kBlockSize = 64;

  Md5();

  // Appends `size` bytes to the message. `data` may be null when `size` is 0.
  void Update(const void* data, size_t size);

  // Writes the digest of all that was appended. The object may be used only
  // for assignment or destruction afterwards.
  void Finish(uint8_t digest[kDigestSize]);

 private:
  uint32_t state_[4];
  uint8_t block_[kBlockSize];  // The first `size_ % kBlockSize` bytes are set.
  uint64_t size_ = 0;          // Of the whole message, in bytes.
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_HASH_MD5_H_
