#include "lib/tar/builder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace feedrate::tar {
namespace {

void SetText(std::string_view text, char* field, size_t width) {
  memcpy(field, text.data(), std::min(text.size(), width));
}

void SetOctal(uint64_t value, char* field, size_t width) {
  for (size_t i = width - 1; i-- > 0; value >>= 3) {
    field[i] = static_cast<char>('0' + (value & 7));
  }
}

}  // namespace

Header MakeHeader(char type, std::string_view name, uint64_t size,
                  uint32_t mode) {
  Header header = {};
  SetText(name, header.name, sizeof(header.name));
  SetOctal(mode, header.mode, sizeof(header.mode));
  SetOctal(0, header.uid, sizeof(header.uid));
  SetOctal(0, header.gid, sizeof(header.gid));
  SetOctal(size, header.size, sizeof(header.size));
  SetOctal(1600000000, header.mtime, sizeof(header.mtime));
  header.type = type;
  SetText(std::string_view("ustar\0", 6), header.magic, sizeof(header.magic));
  SetText("00", header.version, sizeof(header.version));
  return header;
}

void SetBase256(int64_t value, char* field, size_t width) {
  auto bits = static_cast<uint64_t>(value);
  for (size_t i = width; i-- > 0;) {
    const bool fill = i + 8 < width;
    field[i] = fill ? (value < 0 ? '\xff' : '\0') : static_cast<char>(bits);
    if (!fill) bits >>= 8;
  }
  field[0] |= static_cast<char>(0x80);
}

void SetChecksum(Header* header) {
  memset(header->checksum, ' ', sizeof(header->checksum));
  const auto* bytes = reinterpret_cast<const unsigned char*>(header);
  unsigned sum = 0;
  for (size_t i = 0; i < kBlockSize; ++i) sum += bytes[i];
  snprintf(header->checksum, sizeof(header->checksum), "%06o", sum);
  header->checksum[7] = ' ';
}

std::string PaxRecord(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) ++length;
  std::string record = std::to_string(length) + ' ';
  record.append(key).append("=").append(value).append("\n");
  return record;
}

Builder& Builder::Raw(std::string_view bytes) {
  bytes_.append(bytes);
  return *this;
}

Builder& Builder::Add(Header header, std::string_view data) {
  SetChecksum(&header);
  Raw({reinterpret_cast<const char*>(&header), sizeof(header)}).Raw(data);
  bytes_.append(PaddingAfter(data.size()), '\0');
  return *this;
}

Builder& Builder::Add(char type, std::string_view name, std::string_view link,
                      std::string_view data, uint32_t mode) {
  Header header = MakeHeader(type, name, data.size(), mode);
  SetText(link, header.link, sizeof(header.link));
  return Add(header, data);
}

Builder& Builder::File(std::string_view name, std::string_view data,
                       uint32_t mode) {
  return Add('0', name, "", data, mode);
}

Builder& Builder::Folder(std::string_view name, uint32_t mode) {
  return Add('5', name, "", "", mode);
}

Builder& Builder::Symlink(std::string_view name, std::string_view target) {
  return Add('2', name, target, "", 0777);
}

Builder& Builder::HardLink(std::string_view name, std::string_view target) {
  return Add('1', name, target, "");
}

Builder& Builder::Pax(std::string_view key, std::string_view value, char type) {
  return Add(type, "PaxHeaders/0", "", PaxRecord(key, value));
}

Builder& Builder::GnuLong(char type, std::string_view text) {
  return Add(type, "././@LongLink", "", text);
}

std::string Builder::Finish() const {
  return bytes_ + std::string(2 * kBlockSize, '\0');
}

}  // namespace feedrate::tar
