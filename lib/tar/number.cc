#include "lib/tar/number.h"

#include <limits>

namespace feedrate::tar {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool IsBlank(char c) { return c == ' ' || c == '\0'; }

bool ParseOctal(const char* field, size_t width, int64_t* value) {
  size_t i = 0;
  while (i < width && field[i] == ' ') ++i;
  int64_t sum = 0;
  for (; i < width && !IsBlank(field[i]); ++i) {
    if (field[i] < '0' || field[i] > '7') return false;
    if (sum > (kMax >> 3)) return false;
    sum = sum * 8 + (field[i] - '0');
  }
  for (; i < width; ++i) {
    if (!IsBlank(field[i])) return false;
  }
  *value = sum;
  return true;
}

// The first byte holds the marker bit and, below it, the sign bit.
bool ParseBase256(const unsigned char* field, size_t width, int64_t* value) {
  const bool negative = (field[0] & 0x40) != 0;
  const unsigned char fill = negative ? 0xff : 0x00;
  uint64_t sum = negative ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < width; ++i) {
    unsigned char byte = field[i];
    if (i == 0) byte = negative ? (byte | 0x80) : (byte & 0x7f);
    // All but the last eight bytes may only repeat the sign.
    if (i + 8 < width && byte != fill) return false;
    sum = (sum << 8) | byte;
  }
  const int64_t result = static_cast<int64_t>(sum);
  if ((result < 0) != negative) return false;
  *value = result;
  return true;
}

}  // namespace

bool ParseNumber(const char* field, size_t width, int64_t* value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(field);
  if (bytes[0] & 0x80) return ParseBase256(bytes, width, value);
  return ParseOctal(field, width, value);
}

bool ParseDecimal(std::string_view text, int64_t* value) {
  if (text.empty()) return false;
  int64_t sum = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    const int digit = c - '0';
    if (sum > (kMax - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *value = sum;
  return true;
}

bool ParsePaxTime(std::string_view text, Time* time) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const size_t dot = text.find('.');
  int64_t seconds = 0;
  if (!ParseDecimal(text.substr(0, dot), &seconds)) return false;
  int32_t nanoseconds = 0;
  if (dot != std::string_view::npos) {
    std::string_view fraction = text.substr(dot + 1);
    for (char c : fraction) {
      if (c < '0' || c > '9') return false;
    }
    for (size_t i = 0; i < 9; ++i) {
      const int digit = i < fraction.size() ? fraction[i] - '0' : 0;
      nanoseconds = nanoseconds * 10 + digit;
    }
  }
  if (negative) {
    seconds = -seconds;
    if (nanoseconds > 0) {
      seconds -= 1;
      nanoseconds = 1000000000 - nanoseconds;
    }
  }
  *time = {seconds, nanoseconds};
  return true;
}

}  // namespace feedrate::tar
