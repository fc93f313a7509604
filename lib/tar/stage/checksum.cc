#include "lib/tar/stage/checksum.h"

namespace feedrate::tar {

bool IsSha256(const std::string& text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace feedrate::tar
