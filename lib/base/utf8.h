// What counts as UTF-8.
#ifndef FEEDRATE_LIB_BASE_UTF8_H_
#define FEEDRATE_LIB_BASE_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace feedrate {

// Bytes of the character that `text` starts with, or 0 when its first byte
// starts none (stray or overlong sequences, surrogates, beyond U+10FFFF).
// REQUIRES: `text` is not empty.
inline size_t Utf8Length(absl::string_view text) {
  const unsigned char c = text[0];
  if (c < 0x80) return 1;
  const size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  if (c < 0xC2 || c > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = text[1];
  if (c == 0xE0 && second < 0xA0) return 0;
  if (c == 0xED && second > 0x9F) return 0;
  if (c == 0xF0 && second < 0x90) return 0;
  if (c == 0xF4 && second > 0x8F) return 0;
  return length;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_UTF8_H_
