#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/text.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

// Whether `c`, which follows `before`, is escaped: what JSON requires, what a
// terminal would act upon, and the second `#` of a command of a CI server, such
// as `##[error]`, which may be anywhere in a line.
bool NeedsEscape(char32_t c, char before) {
  return c == '"' || c == '\\' || (c == '#' && before == '#') ||
         (c < 0x10000 && IsUnprintable(c));
}

// Most characters, for which NeedsEscape need not be asked.
bool IsPlain(unsigned char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '#';
}

void AppendEscaped(char32_t c, std::string* out) {
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      absl::StrAppend(out, "\\u",
                      absl::Hex(static_cast<uint32_t>(c), absl::kZeroPad4));
  }
}

}  // namespace

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  const char* start = text.data();
  char before = 0;
  while (!text.empty()) {
    const char* const at = text.data();
    if (IsPlain(*at)) {
      before = *at;
      text.remove_prefix(1);
      continue;
    }
    char32_t c;
    const bool is_valid = TakeCharacter(&text, &c);
    if (!is_valid || NeedsEscape(c, before)) {
      out->append(start, at);
      if (is_valid) {
        AppendEscaped(c, out);
      } else {
        out->append("\xEF\xBF\xBD");
      }
      start = text.data();
    }
    before = *at;
  }
  out->append(start, text.data());
  out->push_back('"');
}

void AppendJsonDouble(double value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  if (value == 0 && std::signbit(value)) {
    // Readers take "-0" for an integer, and integers have no negative zero.
    out->append("-0.0");
    return;
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  out->append(buffer, end);
}

}  // namespace feedrate
