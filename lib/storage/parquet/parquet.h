// Columns of Parquet files, as pyarrow writes them for LeRobot data sets and
// for images: numbers (not decimal ones) and texts, single or in lists, plain
// or by dictionary, in pages that are not compressed or compressed by Snappy,
// gzip or zstd. Other columns of a file may be of any kind.
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

  // Groups of rows, which are written and compressed by themselves.
  int groups() const { return static_cast<int>(groups_.size()); }
  int64_t rows(int group) const { return group_rows_[group]; }
  // The same as Read for the rows of one group.
  absl::StatusOr<ParquetColumn> ReadGroup(absl::string_view name,
                                          int group) const;
  // The bytes of the column in a group, as they lie in the file. Empty if there
  // is no such column.
  absl::string_view Chunk(absl::string_view name, int group) const;

  // Where the texts of a column lie in the file, in the order of the rows.
  // Unimplemented if pages are compressed or have a dictionary; other errors as
  // in Read.
  absl::StatusOr<std::vector<absl::string_view>> Places(
      absl::string_view name) const;

 private:
  friend class ColumnReader;
  struct Leaf {
    std::string name;  // Parts of its path, joined by `/`.
    int type = 0;
    int top_parts = 1;  // Parts of `name`.
    int max_definition = 0;
    int max_repetition = 0;
    bool is_unsigned = false;
    bool is_decimal = false;
    // Definition level of an empty list. A lower one means that there is no
    // list.
    int list_definition = 0;
  };
  struct ChunkPlace {
    int codec = 0;
    int64_t values = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  int Find(absl::string_view name) const;
  absl::StatusOr<int> FindOrSay(absl::string_view name) const;
  absl::Status ReadSchema(const struct Thrift& schema);
  absl::Status ReadGroups(const struct Thrift& groups);

  absl::string_view bytes_;
  int64_t rows_ = 0;
  std::vector<Leaf> leaves_;
  // By group of rows and leaf.
  std::vector<std::vector<ChunkPlace>> groups_;
  std::vector<int64_t> group_rows_;
};

// A Parquet file with the column `image`, a structure of `bytes` and `path`, as
// Hugging Face's datasets write it, but always without compression and without
// a dictionary. Pages end after about a megabyte.
struct ParquetImage {
  absl::string_view bytes;
  std::string path;
};
std::string WriteParquetImages(const std::vector<ParquetImage>& images);

}  // namespace feedrate
