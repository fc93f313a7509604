#include "lib/storage/parquet/thrift.h"

#include "lib/base/status_macros.h"

namespace feedrate {

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}
absl::Status CutOff() { return Wrong("is cut off or damaged"); }

absl::StatusOr<uint64_t> ReadVarint(absl::string_view* bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return CutOff();
}

absl::StatusOr<absl::string_view> Take(uint64_t size,
                                       absl::string_view* bytes) {
  if (size > bytes->size()) return CutOff();
  const absl::string_view taken = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return taken;
}

namespace {

enum ThriftType {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kShort = 4,
  kInt = 5,
  kLong = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12
};

absl::Status ReadValue(int type, bool in_list, int nested,
                       absl::string_view* bytes, Thrift* value);

absl::Status ReadList(int nested, absl::string_view* bytes, Thrift* value) {
  ASSIGN_OR_RETURN(const absl::string_view head, Take(1, bytes));
  const auto byte = static_cast<uint8_t>(head[0]);
  uint64_t size = byte >> 4;
  if (size == 15) {
    ASSIGN_OR_RETURN(size, ReadVarint(bytes));
  }
  // Each needs at least a byte.
  if (size > bytes->size()) return CutOff();
  for (uint64_t i = 0; i < size; ++i) {
    RETURN_IF_ERROR(ReadValue(byte & 15, /*in_list=*/true, nested, bytes,
                              &value->list.emplace_back()));
  }
  return absl::OkStatus();
}

absl::Status ReadStruct(int nested, absl::string_view* bytes, Thrift* value) {
  int id = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const absl::string_view head, Take(1, bytes));
    const auto byte = static_cast<uint8_t>(head[0]);
    if (byte == kStop) return absl::OkStatus();
    if (byte >> 4 != 0) {
      id += byte >> 4;
    } else {
      ASSIGN_OR_RETURN(const uint64_t raw, ReadVarint(bytes));
      id = static_cast<int16_t>(raw >> 1 ^ -(raw & 1));
    }
    value->ids.push_back(id);
    RETURN_IF_ERROR(ReadValue(byte & 15, /*in_list=*/false, nested, bytes,
                              &value->fields.emplace_back()));
  }
}

absl::Status ReadValue(int type, bool in_list, int nested,
                       absl::string_view* bytes, Thrift* value) {
  if (nested > kMostThriftNested) return Wrong("is nested too deep");
  switch (type) {
    case kTrue:
    case kFalse: {
      value->number = type == kTrue ? 1 : 0;
      if (!in_list) return absl::OkStatus();
      ASSIGN_OR_RETURN(const absl::string_view byte, Take(1, bytes));
      value->number = byte[0] == 1 ? 1 : 0;
      return absl::OkStatus();
    }
    case kByte:
      return Take(1, bytes).status();
    case kShort:
    case kInt:
    case kLong: {
      ASSIGN_OR_RETURN(const uint64_t raw, ReadVarint(bytes));
      value->number = static_cast<int64_t>(raw >> 1 ^ -(raw & 1));
      return absl::OkStatus();
    }
    case kDouble:
      return Take(8, bytes).status();
    case kBinary: {
      ASSIGN_OR_RETURN(const uint64_t size, ReadVarint(bytes));
      ASSIGN_OR_RETURN(value->text, Take(size, bytes));
      return absl::OkStatus();
    }
    case kList:
    case kSet:
      return ReadList(nested + 1, bytes, value);
    case kStruct:
      return ReadStruct(nested + 1, bytes, value);
    default:
      return Wrong("its description is damaged");
  }
}

}  // namespace

absl::Status ReadThrift(absl::string_view* bytes, Thrift* value) {
  return ReadStruct(0, bytes, value);
}

}  // namespace feedrate
