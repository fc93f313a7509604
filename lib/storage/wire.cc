#include "lib/storage/wire.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/storage/little_endian.h"

namespace feedrate {
namespace {

constexpr int kMostVarintBytes = 10;

}  // namespace

bool WireCursor::NextVarint(uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < rest_.size() && i < kMostVarintBytes; ++i) {
    const auto byte = static_cast<uint8_t>(rest_[i]);
    *value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return rest_.empty() ? false : Break();
}

bool WireCursor::Next(WireField* field) {
  uint64_t tag = 0;
  if (!NextVarint(&tag)) return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  if (tag > 0xffffffffu || field->number == 0) return Break();
  field->type = static_cast<WireField::Type>(tag & 7);
  size_t fixed = 0;
  switch (field->type) {
    case WireField::kVarint:
      return NextVarint(&field->value) || Break();
    case WireField::kBytes: {
      uint64_t size = 0;
      if (!NextVarint(&size) || size > rest_.size()) return Break();
      field->bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
    case WireField::kFixed64:
      fixed = 8;
      break;
    case WireField::kFixed32:
      fixed = 4;
      break;
    default:
      return Break();
  }
  if (rest_.size() < fixed) return Break();
  field->value = LittleEndian(rest_.data(), static_cast<int>(fixed));
  rest_.remove_prefix(fixed);
  return true;
}

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void AppendBytesField(uint32_t number, absl::string_view bytes,
                      std::string* out) {
  AppendVarint(uint64_t{number} << 3 | WireField::kBytes, out);
  AppendVarint(bytes.size(), out);
  absl::StrAppend(out, bytes);
}

}  // namespace feedrate
