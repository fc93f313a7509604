// Places inside the codes of a baseline JPEG at which decoding can start, so
// that a crop needs only its own codes. The file stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// The state of a decoder before an MCU.
struct JpegEntry {
  // Where the next code begins: a byte of the codes as they are in the file,
  // stuffed zeros included, and how many of its bits are used.
  uint32_t byte = 0;
  uint8_t bit = 0;
  // The first coefficient of each component's last block.
  int16_t last_dc[3] = {0, 0, 0};
};

struct JpegEntries {
  int components = 0;
  int64_t mcus = 0;
  // The n-th entry is that of MCU n x `every`.
  int64_t every = 0;
  std::vector<JpegEntry> entries;
};

// So few MCUs between entries that they take about a hundredth of the file.
int64_t JpegEntryDistance(int64_t mcus, size_t file_bytes);

// A few bytes per entry.
std::string PackJpegEntries(const JpegEntries& entries);

// False unless `packed` has all entries of a picture with so many components
// and MCUs, within so many bytes of codes.
bool UnpackJpegEntries(absl::string_view packed, int components, int64_t mcus,
                       size_t codes_bytes, JpegEntries* entries);

}  // namespace feedrate
