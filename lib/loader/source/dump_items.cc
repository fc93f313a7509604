// Prints what containers hold, one JSON object per item or row, so that
// dev/foreign/containers.py can compare it with what their writers read.
//
//   dump_items parquet|tfrecord|lmdb FILE    names, classes and bytes
//   dump_items columns FILE COLUMN           the rows of a column
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"
#include "lib/json/json.h"
#include "lib/loader/source/container_source.h"
#include "lib/storage/parquet/parquet.h"

namespace feedrate {
namespace {

absl::StatusOr<std::unique_ptr<Source>> OpenContainer(absl::string_view kind,
                                                      const std::string& path) {
  if (kind == "parquet") return ParquetSource({path});
  if (kind == "tfrecord") return TfRecordSource({path});
  if (kind == "lmdb") return LmdbSource({path});
  return absl::InvalidArgumentError("no such container");
}

absl::Status DumpItems(absl::string_view kind, const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source,
                   OpenContainer(kind, path));
  ReadBuffer buffer;
  for (int64_t i = 0; i < source->size(); ++i) {
    ASSIGN_OR_RETURN(const absl::string_view bytes, source->Read(i, &buffer));
    const Json line = {{"name", source->name(i)},
                       {"label", source->label(i)},
                       {"sha256", Sha256Hex(bytes.data(), bytes.size())}};
    std::puts(line.dump().c_str());
  }
  return absl::OkStatus();
}

// Texts as hexadecimal numbers: they need not be UTF-8.
Json ValueOf(const ParquetColumn& column, size_t at) {
  if (!column.numbers.empty()) return column.numbers[at];
  if (!column.texts.empty()) return absl::BytesToHexString(column.texts[at]);
  return column.integers[at];
}

absl::Status DumpColumn(const std::string& path, absl::string_view name) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  ASSIGN_OR_RETURN(const ParquetFile file, ParquetFile::Parse(bytes));
  ASSIGN_OR_RETURN(const ParquetColumn column, file.Read(name));
  for (int64_t row = 0; row < file.rows(); ++row) {
    Json line;
    if (column.begins.empty()) {
      line = ValueOf(column, row);
    } else {
      line = Json::array();
      for (int64_t i = column.begins[row]; i < column.begins[row + 1]; ++i) {
        line.push_back(ValueOf(column, i));
      }
    }
    std::puts(line.dump().c_str());
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  const absl::string_view kind = argc > 1 ? argv[1] : "";
  if (argc != (kind == "columns" ? 4 : 3)) return 1;
  const absl::Status done = kind == "columns"
                                ? feedrate::DumpColumn(argv[2], argv[3])
                                : feedrate::DumpItems(kind, argv[2]);
  if (!done.ok()) {
    std::fprintf(stderr, "%s\n", std::string(done.message()).c_str());
  }
  return done.ok() ? 0 : 1;
}
