// Drives a Reader over bytes as hard as it can be driven: for the corpus test
// and the fuzzer.
#ifndef FEEDRATE_LIB_TAR_EXERCISE_H_
#define FEEDRATE_LIB_TAR_EXERCISE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/tar/error.h"

namespace feedrate::tar {

struct Transcript {
  // Every entry with its fields and a sum over its data, and how it ended.
  // How the bytes were cut into pieces must not show here.
  std::string text;
  Error error;
};

// Pushes `bytes` in pieces of `piece` bytes. Aborts when the reader breaks its
// own contract: data beyond an entry's size, an offset that is off, an event
// out of order. With `skip`, passes over bodies by SkipRest() instead of
// reading them.
Transcript Exercise(std::string_view bytes, size_t piece, bool skip);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXERCISE_H_
