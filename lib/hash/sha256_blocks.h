// The compression function of SHA-256, in portable code and in SHA
// instructions. For lib/hash/sha256 and its test; others use sha256.h.
#ifndef FEEDRATE_LIB_HASH_SHA256_BLOCKS_H_
#define FEEDRATE_LIB_HASH_SHA256_BLOCKS_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

// Folds `blocks` blocks of 64 bytes at `data` (any alignment) into `state`.
using Sha256BlocksFn = void (*)(uint32_t state[8], const uint8_t* data,
                                size_t blocks);

void Sha256BlocksPortable(uint32_t state[8], const uint8_t* data,
                          size_t blocks);

// The version in this processor's SHA instructions; null when it has none.
Sha256BlocksFn Sha256BlocksHardware();

// The 64 round constants.
extern const uint32_t kSha256RoundConstants[64];

}  // namespace feedrate

#endif  // FEEDRATE_LIB_HASH_SHA256_BLOCKS_H_
