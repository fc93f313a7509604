// Where values end in JSON that has neither spaces nor escapes.
#ifndef FEEDRATE_LIB_ANALYSIS_PRINTED_VALUE_H_
#define FEEDRATE_LIB_ANALYSIS_PRINTED_VALUE_H_

#include "lib/analysis/words.h"

namespace feedrate {

// All of these want a control character, such as a newline, somewhere behind
// the text, and kPrintedPadding readable bytes behind that.
inline constexpr size_t kPrintedPadding = 64;

// Behind a list or object that starts at `at`; null where it has no plain end.
// Brackets are counted, not matched.
inline const char* NestedEnd(const char* at) {
  int depth = 0;
  for (;;) {
    const char c = *at++;
    if (c == '"') {
      at = PlainStringEnd(at);
      if (at == nullptr) return nullptr;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return at;
    } else if (static_cast<unsigned char>(c) < ' ') {
      return nullptr;
    }
  }
}

// Behind the value that starts at `at`; null when it is none. Whether a number
// is well formed is seen when it is needed.
inline const char* ValueEnd(const char* at) {
  const char c = *at;
  if (c == '"') return PlainStringEnd(at + 1);
  if (c == '{' || c == '[') return NestedEnd(at);
  if ((c < '0' || c > '9') && c != '-' && c != 't' && c != 'f' && c != 'n') {
    return nullptr;
  }
  while (*at > ' ' && *at != ',' && *at != '}' && *at != ']') ++at;
  return at;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_PRINTED_VALUE_H_
