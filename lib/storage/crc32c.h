// CRC-32C, the checksum of TFRecord files and of cloud storage.
#ifndef FEEDRATE_LIB_STORAGE_CRC32C_H_
#define FEEDRATE_LIB_STORAGE_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace feedrate {

// Of `bytes` alone; or of all that came before, whose checksum is `before`, and
// `bytes`.
uint32_t Crc32c(absl::string_view bytes, uint32_t before = 0);

// As TFRecord files store it: turned and shifted, so that the checksum of data
// that holds checksums is no special case.
uint32_t MaskedCrc32c(absl::string_view bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_CRC32C_H_
