#include "lib/loader/cuda/jpeg_head.h"

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace feedrate {
namespace {

int Byte(absl::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}
int Word(absl::string_view bytes, size_t at) {
  return Byte(bytes, at) << 8 | Byte(bytes, at + 1);
}

// C0 to CF but for tables (C4), an extension (C8) and arithmetic (CC).
bool IsFrame(int marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
         marker != 0xCC;
}

// Of a frame header that begins at its length.
std::optional<JpegHead> ReadFrame(absl::string_view frame, int marker) {
  if (frame.size() < 8) return std::nullopt;
  JpegHead head;
  head.baseline = marker == 0xC0 && Byte(frame, 2) == 8;
  head.height = Word(frame, 3);
  head.width = Word(frame, 5);
  head.components = Byte(frame, 7);
  if (frame.size() < 8 + 3u * head.components) return std::nullopt;
  if (head.components < 2) return head;
  const int first = Byte(frame, 9);
  const int second = Byte(frame, 12);
  if ((second >> 4) == 0 || (second & 15) == 0) return std::nullopt;
  head.across = (first >> 4) / (second >> 4);
  head.down = (first & 15) / (second & 15);
  return head;
}

}  // namespace

std::optional<JpegHead> ReadJpegHead(absl::string_view bytes) {
  if (bytes.size() < 4 || Word(bytes, 0) != 0xFFD8) return std::nullopt;
  size_t at = 2;
  while (at + 4 <= bytes.size()) {
    if (Byte(bytes, at) != 0xFF) return std::nullopt;
    const int marker = Byte(bytes, at + 1);
    // Any number of FF may come before a marker.
    if (marker == 0xFF) {
      ++at;
      continue;
    }
    if (IsFrame(marker)) return ReadFrame(bytes.substr(at + 2), marker);
    // Pixels before a frame.
    if (marker == 0xDA) return std::nullopt;
    at += 2 + static_cast<size_t>(Word(bytes, at + 2));
  }
  return std::nullopt;
}

bool EngineDecodes(const JpegHead& head) {
  return head.baseline && head.height > 0 && head.width > 0 &&
         (head.components == 1 || head.components == 3) && head.across <= 2 &&
         head.down <= 2 && head.across >= 1 && head.down >= 1;
}

}  // namespace feedrate
