// For any bytes, reading a Parquet file ends, stays within its memory, and
// gives columns with as many rows as the file has, or a reason. The same bytes
// as a Snappy block, gzip or zstd end too. Texts that have places are the same
// there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "lib/storage/parquet/parquet.h"
#include "lib/storage/parquet/thrift.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  feedrate::UnpackGzip(bytes, size > 0 ? data[0] & 0x7f : 0).IgnoreError();
  feedrate::UnpackZstd(bytes, size > 0 ? data[0] & 0x7f : 0).IgnoreError();
  feedrate::UnpackSnappy(bytes, size > 0 ? data[0] & 0x7f : 0).IgnoreError();
  const auto file = feedrate::ParquetFile::Parse(bytes);
  if (!file.ok()) {
    if (file.status().message().empty()) std::abort();
    return 0;
  }
  for (const char* const name : {"number", "float", "double", "yes", "text",
                                 "list", "texts", "image/bytes"}) {
    const auto column = file->Read(name);
    if (!column.ok()) {
      if (column.status().message().empty()) std::abort();
      continue;
    }
    const auto values =
        static_cast<int64_t>(column->integers.size() + column->numbers.size() +
                             column->texts.size());
    if (column->begins.empty()) {
      if (values != file->rows()) std::abort();
      continue;
    }
    if (static_cast<int64_t>(column->begins.size()) != file->rows() + 1 ||
        column->begins.front() != 0 || column->begins.back() != values) {
      std::abort();
    }
    for (size_t i = 1; i < column->begins.size(); ++i) {
      if (column->begins[i - 1] > column->begins[i]) std::abort();
    }
  }
  for (const char* const name : {"text", "image/bytes"}) {
    const auto places = file->Places(name);
    const auto column = file->Read(name);
    if (!places.ok() || !column.ok()) continue;
    if (column->texts.size() != places->size()) std::abort();
    for (size_t i = 0; i < places->size(); ++i) {
      if ((*places)[i] != column->texts[i]) std::abort();
    }
    int64_t rows = 0;
    for (int group = 0; group < file->groups(); ++group) {
      const auto part = file->ReadGroup(name, group);
      if (part.ok()) rows += static_cast<int64_t>(part->texts.size());
    }
    if (rows > file->rows()) std::abort();
  }
  return 0;
}
