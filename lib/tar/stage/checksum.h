// The checksum of a source, as staging needs it.
//
// lib/tar depends on nothing, so the program brings the SHA-256 that it links.
#ifndef FEEDRATE_LIB_TAR_STAGE_CHECKSUM_H_
#define FEEDRATE_LIB_TAR_STAGE_CHECKSUM_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace feedrate::tar {

class Checksum {
 public:
  virtual ~Checksum() = default;

  virtual void Update(const void* data, size_t size) = 0;

  // The digest in hexadecimal, small letters. To be called once, last.
  virtual std::string Finish() = 0;
};

using ChecksumFactory = std::function<std::unique_ptr<Checksum>()>;

// Whether `text` is 64 hexadecimal digits of small letters.
bool IsSha256(const std::string& text);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_CHECKSUM_H_
