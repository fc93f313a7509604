#include "lib/loader/mixture/tensor_bytes.h"

#include <zlib.h>

#include <cstring>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

template <typename T>
absl::Status AppendAs(absl::string_view bytes, std::vector<float>* values) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      RETURN_IF_ERROR(CheckFitsFloat(static_cast<int64_t>(value)));
    }
    values->push_back(static_cast<float>(value));
  }
  return absl::OkStatus();
}

struct Kind {
  const char* name;
  int bytes;
  absl::Status (*append)(absl::string_view bytes, std::vector<float>* values);
};
constexpr Kind kKinds[] = {
    {"float32", 4, AppendAs<float>},   {"float64", 8, AppendAs<double>},
    {"bool", 1, AppendAs<uint8_t>},    {"uint8", 1, AppendAs<uint8_t>},
    {"uint16", 2, AppendAs<uint16_t>}, {"uint32", 4, AppendAs<uint32_t>},
    {"int8", 1, AppendAs<int8_t>},     {"int16", 2, AppendAs<int16_t>},
    {"int32", 4, AppendAs<int32_t>},   {"int64", 8, AppendAs<int64_t>},
};

const Kind* KindOf(absl::string_view dtype) {
  for (const Kind& kind : kKinds) {
    if (kind.name == dtype) return &kind;
  }
  return nullptr;
}

}  // namespace

absl::Status CheckFitsFloat(int64_t integer) {
  constexpr int64_t kMost = int64_t{1} << 24;
  if (integer >= -kMost && integer <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("has the number ", integer, ", which a float cannot hold"));
}

int TensorValueBytes(absl::string_view dtype) {
  const Kind* const kind = KindOf(dtype);
  return kind != nullptr ? kind->bytes : 0;
}

absl::Status AppendTensor(const TensorEncoding& encoding,
                          absl::string_view bytes, std::vector<float>* values) {
  const Kind* const kind = KindOf(encoding.dtype);
  if (kind == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("has the type ", encoding.dtype));
  }
  const size_t size = encoding.values * kind->bytes;
  std::string unpacked;
  if (encoding.is_zlib) {
    unpacked.resize(size);
    uLongf length = size;
    // Never more than it should have.
    if (uncompress(reinterpret_cast<Bytef*>(&unpacked[0]), &length,
                   reinterpret_cast<const Bytef*>(bytes.data()),
                   bytes.size()) != Z_OK) {
      return absl::InvalidArgumentError("cannot be unpacked");
    }
    unpacked.resize(length);
    bytes = unpacked;
  }
  if (bytes.size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", bytes.size(), " bytes, not ", size));
  }
  return kind->append(bytes, values);
}

}  // namespace feedrate
