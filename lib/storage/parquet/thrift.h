// Thrift's compact protocol, in which Parquet files describe themselves. For
// lib/storage/parquet only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Parquet itself nests five structures.
inline constexpr int kMostThriftNested = 24;

// A value. Texts lie in the bytes that were read.
struct Thrift {
  int64_t number = 0;
  absl::string_view text;
  std::vector<Thrift> list;
  // The numbers of a structure's fields, and the fields.
  std::vector<int> ids;
  std::vector<Thrift> fields;

  // An empty value if there is no such field.
  const Thrift& operator[](int id) const {
    static const Thrift& empty = *new Thrift;
    const auto found = std::find(ids.begin(), ids.end(), id);
    return found == ids.end() ? empty : fields[found - ids.begin()];
  }
  bool has(int id) const {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }
};

// Reads a structure from the beginning of `bytes`, which it removes.
// InvalidArgument if it is damaged.
absl::Status ReadThrift(absl::string_view* bytes, Thrift* value);

// Errors of what is read from Parquet files: all are InvalidArgument.
absl::Status Wrong(absl::string_view what);
absl::Status CutOff();

// These remove what they read from the beginning of `bytes`.
absl::StatusOr<uint64_t> ReadVarint(absl::string_view* bytes);
absl::StatusOr<absl::string_view> Take(uint64_t size, absl::string_view* bytes);

}  // namespace feedrate
