#include "lib/media/jpeg/entries.h"

#include <algorithm>
#include <limits>

namespace feedrate {
namespace {

// What an entry takes on average.
constexpr int64_t kEntryBytes = 6;
constexpr int64_t kShareOfFile = 100;

void AddNumber(uint64_t number, std::string* out) {
  for (; number >= 128; number >>= 7) {
    out->push_back(static_cast<char>(number | 128));
  }
  out->push_back(static_cast<char>(number));
}

bool TakeNumber(absl::string_view* in, uint64_t* number) {
  *number = 0;
  for (int shift = 0; shift < 63 && !in->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    *number |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

}  // namespace

int64_t JpegEntryDistance(int64_t mcus, size_t file_bytes) {
  const int64_t entries =
      static_cast<int64_t>(file_bytes) / (kShareOfFile * kEntryBytes) + 1;
  return std::max<int64_t>(4, (mcus + entries - 1) / entries);
}

// The first entry is the beginning and left out. The others are differences
// from the one before.
std::string PackJpegEntries(const JpegEntries& entries) {
  std::string packed;
  AddNumber(static_cast<uint64_t>(entries.every), &packed);
  for (size_t e = 1; e < entries.entries.size(); ++e) {
    const JpegEntry& last = entries.entries[e - 1];
    const JpegEntry& entry = entries.entries[e];
    AddNumber(uint64_t{entry.byte} * 8 + entry.bit -
                  (uint64_t{last.byte} * 8 + last.bit),
              &packed);
    for (int c = 0; c < entries.components; ++c) {
      const int difference = entry.last_dc[c] - last.last_dc[c];
      AddNumber(difference < 0 ? -2 * difference - 1 : 2 * difference, &packed);
    }
  }
  return packed;
}

bool UnpackJpegEntries(absl::string_view packed, int components, int64_t mcus,
                       size_t codes_bytes, JpegEntries* entries) {
  uint64_t every;
  if (!TakeNumber(&packed, &every) || every == 0 ||
      every > std::numeric_limits<uint32_t>::max()) {
    return false;
  }
  entries->components = components;
  entries->mcus = mcus;
  entries->every = static_cast<int64_t>(every);
  entries->entries.clear();
  JpegEntry entry;
  uint64_t position = 0;
  for (int64_t mcu = 0; mcu < mcus; mcu += entries->every) {
    if (mcu > 0) {
      uint64_t number;
      if (!TakeNumber(&packed, &number) || number > uint64_t{codes_bytes} * 8) {
        return false;
      }
      position += number;
      if (position / 8 >= codes_bytes) return false;
      entry.byte = static_cast<uint32_t>(position / 8);
      entry.bit = position % 8;
      for (int c = 0; c < components; ++c) {
        if (!TakeNumber(&packed, &number) || number > 1 << 17) return false;
        const auto half = static_cast<int>(number / 2);
        const int dc = entry.last_dc[c] + (number % 2 ? -half - 1 : half);
        if (dc != static_cast<int16_t>(dc)) return false;
        entry.last_dc[c] = static_cast<int16_t>(dc);
      }
    }
    entries->entries.push_back(entry);
  }
  return packed.empty();
}

}  // namespace feedrate
