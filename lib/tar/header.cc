#include "lib/tar/header.h"

#include <cstring>

#include "lib/tar/number.h"

namespace feedrate::tar {
namespace {

// A field that is full has no NUL at its end.
std::string Field(const char* field, size_t width) {
  return std::string(field, strnlen(field, width));
}

bool IsUstar(const Header& header) {
  return memcmp(header.magic, "ustar\0", 6) == 0;
}

// star marks its headers at the very end and keeps times in the prefix's tail.
size_t PrefixWidth(const Header& header) {
  const bool star = memcmp(header.padding + 8, "tar\0", 4) == 0;
  return star ? 131 : sizeof(header.prefix);
}

}  // namespace

bool IsZeroBlock(const void* block) {
  const char* bytes = static_cast<const char*>(block);
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, kBlockSize - 1) == 0;
}

bool ChecksumMatches(const Header& header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  constexpr size_t kBegin = offsetof(Header, checksum);
  constexpr size_t kEnd = kBegin + sizeof(header.checksum);
  int64_t sum = 0;
  int64_t high = 0;  // How many bytes a signed sum counts 256 lower.
  for (size_t i = 0; i < kBlockSize; ++i) {
    const bool own = i >= kBegin && i < kEnd;
    const unsigned char byte = own ? ' ' : bytes[i];
    sum += byte;
    high += byte >> 7;
  }
  int64_t stored = 0;
  if (!ParseNumber(header.checksum, sizeof(header.checksum), &stored)) {
    return false;
  }
  return stored == sum || stored == sum - 256 * high;
}

std::string HeaderName(const Header& header) {
  std::string name = Field(header.name, sizeof(header.name));
  if (!IsUstar(header) || header.prefix[0] == '\0') return name;
  return Field(header.prefix, PrefixWidth(header)) + '/' + name;
}

std::string HeaderLink(const Header& header) {
  return Field(header.link, sizeof(header.link));
}

}  // namespace feedrate::tar
