// What Parquet files are made of: Thrift's compact protocol, in which they
// describe themselves, Snappy's blocks, gzip, zstd and packed numbers. For
// lib/storage/parquet only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// At both ends of a file.
inline constexpr absl::string_view kParquetMagic = "PAR1";

namespace parquet {

// Values of the fields that Parquet calls Type, ConvertedType, Encoding,
// CompressionCodec and PageType.
enum Type {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kFloat = 4,
  kDouble64 = 5,
  kByteArray = 6
};
enum Converted { kDecimal = 5, kUint8 = 11, kUint64 = 14 };
enum Encoding {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kRleDictionary = 8
};
enum Codec { kUncompressed = 0, kSnappy = 1, kGzip = 2, kZstd = 6 };
enum PageType { kDataPage = 0, kDictionaryPage = 2, kDataPage2 = 3 };

}  // namespace parquet

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
absl::Status BadParquet(absl::string_view what);
absl::Status CutOffParquet();

// These remove what they read from the beginning of `bytes`.
absl::StatusOr<uint64_t> ReadVarint(absl::string_view* bytes);
absl::StatusOr<absl::string_view> TakeBytes(uint64_t size,
                                            absl::string_view* bytes);

// The content of a block that Snappy compressed. InvalidArgument if it is
// damaged or has not `size` bytes.
absl::StatusOr<std::string> UnpackSnappy(absl::string_view packed,
                                         int64_t size);

// The same for gzip and for zstd.
absl::StatusOr<std::string> UnpackGzip(absl::string_view packed, int64_t size);
absl::StatusOr<std::string> UnpackZstd(absl::string_view packed, int64_t size);

// Replaces `out` by `count` numbers that repeat, or have `width` bits:
// Parquet's RLE/bit-packing hybrid.
absl::Status ReadHybrid(absl::string_view bytes, int width, int64_t count,
                        std::vector<uint32_t>* out);

void AppendVarint(uint64_t value, std::string* out);

// Appends a structure to `out`, field by field, by rising numbers. Ends with
// End().
class ThriftWriter {
 public:
  // The types that elements of a list can have.
  enum Elements { kInts = 5, kTexts = 8, kStructs = 12 };

  // `out` must outlive the writer.
  explicit ThriftWriter(std::string* out) : out_(*out) {}

  void Int(int id, int64_t value);
  void Long(int id, int64_t value);
  void Text(int id, absl::string_view value);
  // A structure in the structure.
  void Begin(int id);
  void End();
  // The elements follow.
  void List(int id, Elements type, size_t size);
  void IntElement(int64_t value);
  void TextElement(absl::string_view value);
  void BeginElement() { last_.push_back(0); }

 private:
  void Head(int id, int type);

  std::string& out_;
  // The last field of each structure that is open.
  std::vector<int> last_ = {0};
};

}  // namespace feedrate
