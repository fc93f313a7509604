// Fuzzes the reader: it may not break its contract, and how the bytes arrive
// may not change what it says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/tar/exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedrate::tar::Exercise;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = Exercise(bytes, size + 1, false).text;
  // 509 is prime: no header or body ends where a piece does for long.
  if (Exercise(bytes, 509, false).text != whole) abort();
  Exercise(bytes, size + 1, true);
  return 0;
}
