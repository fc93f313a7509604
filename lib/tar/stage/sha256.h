// SHA-256, by the processor's own instructions where it has them.
#ifndef LIB_TAR_STAGE_SHA256_H_
#define LIB_TAR_STAGE_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace feedrate::tar {

// Takes whole blocks of 64 bytes into the state.
using Sha256Blocks = void (*)(uint32_t state[8], const uint8_t* data,
                              size_t blocks);

struct Sha256Engine {
  const char* name;
  Sha256Blocks blocks;
};

// What this processor can run, the fastest first; "portable" is always last.
const std::vector<Sha256Engine>& Sha256Engines();

class Sha256 {
 public:
  Sha256() : Sha256(Sha256Engines().front()) {}
  explicit Sha256(const Sha256Engine& engine);

  void Update(const void* data, size_t size);

  // The digest in hexadecimal, small letters. To be called once, last.
  std::string Finish();

 private:
  const Sha256Blocks blocks_;
  uint32_t state_[8];
  uint8_t tail_[64];
  uint64_t size_ = 0;
};

// Whether `text` is 64 hexadecimal digits of small letters.
bool IsSha256(const std::string& text);

}  // namespace feedrate::tar

#endif  // LIB_TAR_STAGE_SHA256_H_
