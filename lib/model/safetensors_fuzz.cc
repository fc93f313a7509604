// A file of any bytes is refused, or its tensors fill the rest of it without
// gaps, and its header gives the same again after printing and reading it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "lib/model/safetensors.h"

namespace feedrate {
namespace {

bool Read(const std::string& file, SafetensorsHeader* header, int64_t* at) {
  std::istringstream in(file);
  const auto bytes = static_cast<int64_t>(file.size());
  if (!ReadSafetensorsHeader(in, bytes, header).empty()) return false;
  *at = static_cast<int64_t>(in.tellg());
  return true;
}

void ReadAnything(const std::string& file) {
  SafetensorsHeader header;
  int64_t at = 0;
  if (!Read(file, &header, &at)) return;
  const int64_t data = static_cast<int64_t>(file.size()) - at;
  int64_t end = 0;
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (tensor.begin != end || tensor.bytes < 0) std::abort();
    end += tensor.bytes;
  }
  if (end != data) std::abort();
  const std::string once = PrintSafetensorsHeader(header);
  SafetensorsHeader again;
  if (!Read(once + std::string(data, 'x'), &again, &at)) std::abort();
  if (at != static_cast<int64_t>(once.size())) std::abort();
  if (PrintSafetensorsHeader(again) != once) std::abort();
}

// The header of a file is its length and JSON; most bytes would be no length.
std::string WithLength(const std::string& bytes) {
  std::string file;
  const size_t length = bytes.empty() ? 0 : bytes.size() - bytes.back() % 32;
  for (int i = 0; i < 8; ++i) {
    file += static_cast<char>((length < bytes.size() ? length : bytes.size()) >>
                              (8 * i));
  }
  return file + bytes;
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  feedrate::ReadAnything(bytes);
  feedrate::ReadAnything(feedrate::WithLength(bytes));
  return 0;
}
