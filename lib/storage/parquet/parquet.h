// Columns of Parquet files, as pyarrow writes them for LeRobot data sets:
// numbers and texts, single or in lists, plain or by dictionary, in pages that
// are not compressed or compressed by Snappy. Other columns of a file may be of
// any kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// All values of a column, in the order of the rows. One of the first three is
// used.
struct ParquetColumn {
  std::vector<int64_t> integers;  // Also booleans.
  std::vector<double> numbers;
  std::vector<std::string> texts;
  // For a list, where the values of each row begin, and where the last ends.
  // Otherwise empty: each row has one value.
  std::vector<int64_t> begins;
};

class ParquetFile {
 public:
  // `bytes` must outlive the object. InvalidArgument says what is wrong with
  // them; nothing but the description at the end is read.
  static absl::StatusOr<ParquetFile> Parse(absl::string_view bytes);

  int64_t rows() const { return rows_; }
  // True for a column of this name, whatever its type.
  bool Has(absl::string_view name) const { return Find(name) >= 0; }
  // The column `name`, or the part `name/part` of a structure. NotFound names
  // the column and those that exist; InvalidArgument says what is damaged, not
  // supported, or has no value.
  absl::StatusOr<ParquetColumn> Read(absl::string_view name) const;

 private:
  friend class ColumnReader;
  struct Leaf {
    std::string name;  // Parts of its path, joined by `/`.
    int type = 0;
    int top_parts = 1;  // Parts of `name`.
    int max_definition = 0;
    int max_repetition = 0;
    // Definition level of an empty list. A lower one is no list.
    int list_definition = 0;
  };
  struct Chunk {
    int codec = 0;
    int64_t values = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  int Find(absl::string_view name) const;
  absl::Status ReadSchema(const struct Thrift& schema);
  absl::Status ReadGroups(const struct Thrift& groups);

  absl::string_view bytes_;
  int64_t rows_ = 0;
  std::vector<Leaf> leaves_;
  // By group of rows and leaf.
  std::vector<std::vector<Chunk>> groups_;
};

// The content of a block that Snappy compressed. InvalidArgument if it is
// damaged or has not `size` bytes.
absl::StatusOr<std::string> UnpackSnappy(absl::string_view packed,
                                         int64_t size);

}  // namespace feedrate
