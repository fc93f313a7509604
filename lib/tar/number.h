// Numbers as tar headers write them.
#ifndef FEEDRATE_LIB_TAR_NUMBER_H_
#define FEEDRATE_LIB_TAR_NUMBER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace feedrate::tar {

// Reads a header field of `width` bytes: octal text with blanks or NULs around
// it, or, with the top bit of the first byte set, a big-endian two's-complement
// number (GNU and star write what octal cannot hold so). An empty field is 0.
// Returns false for anything else and for what an int64_t cannot hold.
bool ParseNumber(const char* field, size_t width, int64_t* value);

// Reads all of `text` as decimal digits. False when there is another character,
// none at all, or more than an int64_t holds.
bool ParseDecimal(std::string_view text, int64_t* value);

// A moment as pax and tar give it. `nanoseconds` is in [0, 1e9) for moments
// before 1970 too, as struct timespec wants it.
struct Time {
  int64_t seconds = 0;
  int32_t nanoseconds = 0;
};

// Reads pax's "[-]seconds[.fraction]"; digits past the ninth are cut off.
bool ParsePaxTime(std::string_view text, Time* time);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_NUMBER_H_
