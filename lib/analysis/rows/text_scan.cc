#include "lib/analysis/rows/text_scan.h"

#include "simdjson.h"

namespace feedrate {

const char* OddStringEnd(const char* start) {
  bool is_ascii = true;
  for (const char* at = start;; ++at) {
    const unsigned char c = static_cast<unsigned char>(*at);
    if (c == '"') {
      const size_t size = static_cast<size_t>(at - start);
      return is_ascii || simdjson::validate_utf8(start, size) ? at + 1
                                                              : nullptr;
    }
    if (c < ' ') return nullptr;
    is_ascii &= c < 0x80;
    // The escaped character is part of the string, unless the line ends here.
    if (c == '\\' && static_cast<unsigned char>(at[1]) >= ' ') ++at;
  }
}

}  // namespace feedrate
