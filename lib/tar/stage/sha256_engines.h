// The inner loops of SHA-256.
#ifndef LIB_TAR_STAGE_SHA256_ENGINES_H_
#define LIB_TAR_STAGE_SHA256_ENGINES_H_

#include <cstddef>
#include <cstdint>

namespace feedrate::tar {

extern const uint32_t kSha256Constants[64];

void PortableSha256(uint32_t state[8], const uint8_t* data, size_t blocks);

// The engine for this processor's SHA instructions, asked at run time; null
// when it has none.
void (*HardwareSha256())(uint32_t state[8], const uint8_t* data, size_t blocks);

}  // namespace feedrate::tar

#endif  // LIB_TAR_STAGE_SHA256_ENGINES_H_
