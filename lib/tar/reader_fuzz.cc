// Fuzzes the reader: it must keep its contract, and its result must not depend
// on how the bytes are split.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "lib/tar/test_archives.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedrate::tar::ReadInPieces;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = ReadInPieces(bytes, size + 1, false).text;
  // 509 is prime, so that pieces and blocks rarely end together.
  if (ReadInPieces(bytes, 509, false).text != whole) abort();
  ReadInPieces(bytes, size + 1, true);
  return 0;
}
