#include "lib/storage/parquet/parquet.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/storage/parquet/thrift.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {

namespace {

// More values than bytes are possible where values repeat.
constexpr int64_t kValuesPerByte = 64;
constexpr int64_t kFewValues = 1 << 16;

int BitsOf(int level) {
  int bits = 0;
  for (; level > 0; level >>= 1) ++bits;
  return bits;
}

absl::Status ReadPlain(absl::string_view bytes, int type, int64_t count,
                       ParquetColumn* out) {
  for (int64_t i = 0; i < count; ++i) {
    if (type == parquet::kBoolean) {
      if (static_cast<size_t>(i / 8) >= bytes.size()) return CutOffParquet();
      out->integers.push_back(static_cast<uint8_t>(bytes[i / 8]) >> (i % 8) &
                              1);
      continue;
    }
    const bool is_short = type == parquet::kInt32 || type == parquet::kFloat ||
                          type == parquet::kByteArray;
    ASSIGN_OR_RETURN(const absl::string_view raw,
                     TakeBytes(is_short ? 4 : 8, &bytes));
    if (type == parquet::kInt32) {
      out->integers.push_back(static_cast<int32_t>(LittleEndian32(raw.data())));
    } else if (type == parquet::kInt64) {
      out->integers.push_back(static_cast<int64_t>(LittleEndian64(raw.data())));
    } else if (type == parquet::kFloat) {
      float value = 0;
      std::memcpy(&value, raw.data(), sizeof(value));
      out->numbers.push_back(value);
    } else if (type == parquet::kDouble64) {
      double value = 0;
      std::memcpy(&value, raw.data(), sizeof(value));
      out->numbers.push_back(value);
    } else {
      ASSIGN_OR_RETURN(const absl::string_view text,
                       TakeBytes(LittleEndian32(raw.data()), &bytes));
      out->texts.emplace_back(text);
    }
  }
  return absl::OkStatus();
}

int64_t BytesOf(const std::string& value) {
  return static_cast<int64_t>(value.size());
}
template <typename T>
int64_t BytesOf(const T&) {
  return 0;
}

// Looks numbers up in a dictionary. `most_bytes` limits texts.
template <typename T>
absl::Status LookUp(const std::vector<T>& from, const std::vector<uint32_t>& at,
                    int64_t* most_bytes, std::vector<T>* to) {
  for (const uint32_t i : at) {
    if (i >= from.size()) return CutOffParquet();
    *most_bytes -= BytesOf(from[i]);
    if (*most_bytes < 0) return BadParquet("has too long texts");
    to->push_back(from[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Unpack(absl::string_view page, int codec,
                                   int64_t size) {
  if (codec == parquet::kUncompressed) return std::string(page);
  if (codec == parquet::kSnappy) return UnpackSnappy(page, size);
  if (codec == parquet::kGzip) return UnpackGzip(page, size);
  if (codec == parquet::kZstd) return UnpackZstd(page, size);
  return BadParquet(
      "is compressed by another method than Snappy, gzip and zstd; write it "
      "again with compression=\"snappy\"");
}

}  // namespace

absl::StatusOr<ParquetFile> ParquetFile::Parse(absl::string_view bytes) {
  constexpr size_t kTail = 8;
  if (bytes.size() < kParquetMagic.size() + kTail ||
      !absl::EndsWith(bytes, kParquetMagic) ||
      !absl::StartsWith(bytes, kParquetMagic)) {
    return BadParquet("is no Parquet file, or cut off");
  }
  const size_t footer = LittleEndian32(bytes.data() + bytes.size() - kTail);
  if (footer > bytes.size() - kTail - kParquetMagic.size())
    return CutOffParquet();
  absl::string_view text = bytes.substr(bytes.size() - kTail - footer, footer);
  Thrift root;
  RETURN_IF_ERROR(ReadThrift(&text, &root));
  ParquetFile file;
  file.bytes_ = bytes;
  file.rows_ = root[3].number;
  RETURN_IF_ERROR(file.ReadSchema(root[2]));
  RETURN_IF_ERROR(file.ReadGroups(root[4]));
  return file;
}

absl::Status ParquetFile::ReadSchema(const Thrift& schema) {
  // Structures that are open: how many parts are left, and what is inside.
  struct Open {
    int64_t left;
    Leaf leaf;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < schema.list.size(); ++i) {
    const Thrift& element = schema.list[i];
    Leaf leaf;
    if (!open.empty()) {
      leaf = open.back().leaf;
      --open.back().left;
      absl::StrAppend(&leaf.name, leaf.name.empty() ? "" : "/",
                      element[4].text);
      leaf.top_parts = static_cast<int>(open.size());
      const int64_t repetition = element[3].number;
      if (repetition == 2) {
        ++leaf.max_repetition;
        leaf.list_definition = leaf.max_definition;
      }
      if (repetition != 0) ++leaf.max_definition;
    } else if (i > 0) {
      return CutOffParquet();
    }
    if (element[5].number > 0) {
      if (open.size() > kMostThriftNested)
        return BadParquet("is nested too deep");
      open.push_back({element[5].number, std::move(leaf)});
    } else if (i > 0) {
      leaf.type = static_cast<int>(element[1].number);
      const int64_t converted = element[6].number;
      const Thrift& logical = element[10];
      leaf.is_decimal = converted == parquet::kDecimal || logical.has(5);
      leaf.is_unsigned =
          (converted >= parquet::kUint8 && converted <= parquet::kUint64) ||
          (logical.has(10) && logical[10][2].number == 0);
      leaves_.push_back(std::move(leaf));
    }
    while (!open.empty() && open.back().left == 0) open.pop_back();
  }
  return open.empty() ? absl::OkStatus() : CutOffParquet();
}

absl::Status ParquetFile::ReadGroups(const Thrift& groups) {
  const auto size = static_cast<int64_t>(bytes_.size());
  int64_t rows = 0;
  for (const Thrift& group : groups.list) {
    if (group[1].list.size() != leaves_.size()) return CutOffParquet();
    std::vector<ChunkPlace>& chunks = groups_.emplace_back();
    for (const Thrift& column : group[1].list) {
      const Thrift& meta = column[3];
      ChunkPlace chunk;
      chunk.codec = static_cast<int>(meta[4].number);
      chunk.values = meta[5].number;
      chunk.bytes = meta[7].number;
      chunk.offset = meta[9].number;
      if (meta[11].number > 0) {
        chunk.offset = std::min(chunk.offset, meta[11].number);
      }
      if (chunk.values < 0 || chunk.offset < 0 || chunk.bytes < 0 ||
          chunk.offset > size || chunk.bytes > size - chunk.offset) {
        return CutOffParquet();
      }
      chunks.push_back(chunk);
    }
    const int64_t more = group[3].number;
    if (more < 0 || more > rows_ - rows) return CutOffParquet();
    rows += more;
    group_rows_.push_back(more);
  }
  return rows == rows_ ? absl::OkStatus() : CutOffParquet();
}

int ParquetFile::Find(absl::string_view name) const {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    if (leaf.name == name) return static_cast<int>(i);
    // A list: NAME/list/element. Its names differ between writers.
    if (leaf.max_repetition > 0 && leaf.top_parts == 3 &&
        absl::StartsWith(leaf.name, absl::StrCat(name, "/list/"))) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Reads the pages of one column.
class ColumnReader {
 public:
  ColumnReader(const ParquetFile& file, int leaf)
      : file_(file),
        leaf_(file.leaves_[leaf]),
        number_(leaf),
        most_values_(kFewValues + kValuesPerByte * static_cast<int64_t>(
                                                       file.bytes_.size())) {}

  // The column in the groups from `first` up to `end`.
  absl::StatusOr<ParquetColumn> Read(int first, int end) {
    if (leaf_.max_repetition > 1) return BadParquet("has lists of lists");
    if (leaf_.type != parquet::kBoolean && leaf_.type != parquet::kInt32 &&
        leaf_.type != parquet::kInt64 && leaf_.type != parquet::kFloat &&
        leaf_.type != parquet::kDouble64 && leaf_.type != parquet::kByteArray) {
      return BadParquet("has values of a type that is not supported");
    }
    if (leaf_.is_decimal) {
      return BadParquet("has decimal numbers; write it again as float64");
    }
    RETURN_IF_ERROR(ReadGroups(first, end));
    if (leaf_.is_unsigned) RETURN_IF_ERROR(RemoveSigns());
    if (leaf_.max_repetition > 0) column_.begins.push_back(Size());
    return std::move(column_);
  }

  absl::StatusOr<std::vector<absl::string_view>> Places() {
    if (leaf_.max_repetition > 0 || leaf_.type != parquet::kByteArray) {
      return BadParquet("is not a column of texts");
    }
    wants_places_ = true;
    RETURN_IF_ERROR(ReadGroups(0, file_.groups()));
    return std::move(places_);
  }

 private:
  absl::Status ReadGroups(int first, int end) {
    int64_t wanted = 0;
    for (int group = first; group < end; ++group) {
      RETURN_IF_ERROR(ReadChunk(file_.groups_[group][number_]));
      wanted += file_.rows(group);
    }
    if (rows_ == wanted) return absl::OkStatus();
    return BadParquet(absl::StrCat("has ", rows_, " rows, not ", wanted));
  }

  absl::Status ReadChunk(const ParquetFile::ChunkPlace& chunk) {
    absl::string_view bytes = file_.bytes_.substr(chunk.offset, chunk.bytes);
    dictionary_.reset();
    for (int64_t left = chunk.values; left > 0;) {
      Thrift header;
      RETURN_IF_ERROR(ReadThrift(&bytes, &header));
      if (header[3].number < 0) return CutOffParquet();
      ASSIGN_OR_RETURN(const absl::string_view page,
                       TakeBytes(header[3].number, &bytes));
      if (header[1].number == parquet::kDictionaryPage) {
        RETURN_IF_ERROR(ReadDictionary(header, page, chunk.codec));
      } else if (header[1].number == parquet::kDataPage ||
                 header[1].number == parquet::kDataPage2) {
        const bool is_new = header[1].number == parquet::kDataPage2;
        const int64_t values = header[is_new ? 8 : 5][1].number;
        if (values <= 0 || values > left) return CutOffParquet();
        left -= values;
        levels_ += values;
        if (levels_ > most_values_) return BadParquet("has too many values");
        if (wants_places_) {
          RETURN_IF_ERROR(AddPlaces(header, is_new, page, chunk.codec));
          continue;
        }
        RETURN_IF_ERROR(is_new ? ReadNew(header, page, chunk.codec)
                               : ReadOld(header, page, chunk.codec));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadDictionary(const Thrift& header, absl::string_view page,
                              int codec) {
    const int64_t count = header[7][1].number;
    if (count < 0 || count > most_values_) return CutOffParquet();
    ASSIGN_OR_RETURN(const std::string plain,
                     Unpack(page, codec, header[2].number));
    dictionary_.emplace();
    return ReadPlain(plain, leaf_.type, count, &*dictionary_);
  }

  absl::Status ReadOld(const Thrift& header, absl::string_view page,
                       int codec) {
    ASSIGN_OR_RETURN(const std::string plain,
                     Unpack(page, codec, header[2].number));
    absl::string_view bytes = plain;
    const int64_t count = header[5][1].number;
    RETURN_IF_ERROR(
        ReadOldLevels(leaf_.max_repetition, count, &bytes, &repetitions_));
    RETURN_IF_ERROR(
        ReadOldLevels(leaf_.max_definition, count, &bytes, &definitions_));
    return Add(static_cast<int>(header[5][2].number), count, bytes);
  }

  static absl::Status ReadOldLevels(int most, int64_t count,
                                    absl::string_view* bytes,
                                    std::vector<uint32_t>* levels) {
    levels->clear();
    if (most == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const absl::string_view size, TakeBytes(4, bytes));
    ASSIGN_OR_RETURN(const absl::string_view coded,
                     TakeBytes(LittleEndian32(size.data()), bytes));
    return ReadHybrid(coded, BitsOf(most), count, levels);
  }

  // Removes the levels of a new page, which are never compressed.
  absl::Status TakeNewLevels(const Thrift& own, absl::string_view* page) {
    const int64_t count = own[1].number;
    const int64_t sizes[] = {own[6].number, own[5].number};
    const int most[] = {leaf_.max_repetition, leaf_.max_definition};
    std::vector<uint32_t>* const levels[] = {&repetitions_, &definitions_};
    for (int i = 0; i < 2; ++i) {
      if (sizes[i] < 0) return CutOffParquet();
      ASSIGN_OR_RETURN(const absl::string_view coded,
                       TakeBytes(sizes[i], page));
      levels[i]->clear();
      if (most[i] == 0) continue;
      RETURN_IF_ERROR(ReadHybrid(coded, BitsOf(most[i]), count, levels[i]));
    }
    return absl::OkStatus();
  }

  absl::Status ReadNew(const Thrift& header, absl::string_view page,
                       int codec) {
    const Thrift& own = header[8];
    const size_t whole = page.size();
    RETURN_IF_ERROR(TakeNewLevels(own, &page));
    const bool is_packed = !own.has(7) || own[7].number == 1;
    ASSIGN_OR_RETURN(
        const std::string plain,
        Unpack(page,
               is_packed && !page.empty() ? codec : int{parquet::kUncompressed},
               header[2].number - static_cast<int64_t>(whole - page.size())));
    return Add(static_cast<int>(own[4].number), own[1].number, plain);
  }

  // Adds the places of a page's texts.
  absl::Status AddPlaces(const Thrift& header, bool is_new,
                         absl::string_view page, int codec) {
    const Thrift& own = header[is_new ? 8 : 5];
    if (codec != parquet::kUncompressed ||
        own[is_new ? 4 : 2].number != parquet::kPlain) {
      return absl::UnimplementedError("has pages that must be unpacked");
    }
    const int64_t count = own[1].number;
    RETURN_IF_ERROR(is_new ? TakeNewLevels(own, &page)
                           : ReadOldLevels(leaf_.max_definition, count, &page,
                                           &definitions_));
    for (int64_t i = 0; i < count; ++i) {
      if (!definitions_.empty() &&
          static_cast<int>(definitions_[i]) != leaf_.max_definition) {
        return BadParquet(absl::StrCat("has no value in row ", rows_));
      }
      ASSIGN_OR_RETURN(const absl::string_view size, TakeBytes(4, &page));
      ASSIGN_OR_RETURN(places_.emplace_back(),
                       TakeBytes(LittleEndian32(size.data()), &page));
      ++rows_;
    }
    return absl::OkStatus();
  }

  // Adds the rows of a page, whose levels are known.
  absl::Status Add(int encoding, int64_t count, absl::string_view bytes) {
    int64_t present = 0;
    const int64_t before = Size();
    for (int64_t i = 0; i < count; ++i) {
      const auto definition = static_cast<int>(
          definitions_.empty() ? leaf_.max_definition : definitions_[i]);
      const bool is_row = repetitions_.empty() || repetitions_[i] == 0;
      const bool is_value = definition == leaf_.max_definition;
      if (is_row) {
        ++rows_;
        if (leaf_.max_repetition > 0) {
          column_.begins.push_back(before + present);
        }
      } else if (rows_ == 0) {
        return CutOffParquet();
      }
      if (is_value) {
        ++present;
      } else if (leaf_.max_repetition == 0 || !is_row ||
                 definition > leaf_.list_definition) {
        return BadParquet(absl::StrCat("has no value in row ", rows_ - 1));
      }
    }
    RETURN_IF_ERROR(AddValues(encoding, present, bytes));
    return Size() == before + present ? absl::OkStatus() : CutOffParquet();
  }

  absl::Status AddValues(int encoding, int64_t count, absl::string_view bytes) {
    if (encoding == parquet::kPlain) {
      return ReadPlain(bytes, leaf_.type, count, &column_);
    }
    std::vector<uint32_t> numbers;
    if (encoding == parquet::kRle && leaf_.type == parquet::kBoolean) {
      ASSIGN_OR_RETURN(const absl::string_view size, TakeBytes(4, &bytes));
      ASSIGN_OR_RETURN(const absl::string_view coded,
                       TakeBytes(LittleEndian32(size.data()), &bytes));
      RETURN_IF_ERROR(ReadHybrid(coded, 1, count, &numbers));
      column_.integers.insert(column_.integers.end(), numbers.begin(),
                              numbers.end());
      return absl::OkStatus();
    }
    if (encoding != parquet::kPlainDictionary &&
        encoding != parquet::kRleDictionary) {
      return BadParquet(absl::StrCat("has the encoding ", encoding,
                                     ", which is not supported; write it again "
                                     "without column_encoding"));
    }
    if (!dictionary_.has_value()) return CutOffParquet();
    if (count == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const absl::string_view width, TakeBytes(1, &bytes));
    RETURN_IF_ERROR(
        ReadHybrid(bytes, static_cast<uint8_t>(width[0]), count, &numbers));
    // A dictionary has values of one kind: the column's type decides which of
    // these lists is filled.
    if (!dictionary_->numbers.empty()) {
      return LookUp(dictionary_->numbers, numbers, &text_bytes_,
                    &column_.numbers);
    }
    if (!dictionary_->texts.empty()) {
      return LookUp(dictionary_->texts, numbers, &text_bytes_, &column_.texts);
    }
    return LookUp(dictionary_->integers, numbers, &text_bytes_,
                  &column_.integers);
  }

  // Numbers were read as if they had a sign.
  absl::Status RemoveSigns() {
    for (int64_t& value : column_.integers) {
      if (leaf_.type == parquet::kInt32) value = static_cast<uint32_t>(value);
      if (value < 0) {
        return BadParquet(
            "has a number of 2^63 or more; write it again as "
            "int64 or float64");
      }
    }
    return absl::OkStatus();
  }

  int64_t Size() const {
    return static_cast<int64_t>(column_.integers.size() +
                                column_.numbers.size() + column_.texts.size());
  }

  const ParquetFile& file_;
  const ParquetFile::Leaf& leaf_;
  const int number_;
  const int64_t most_values_;
  int64_t text_bytes_ = most_values_;
  ParquetColumn column_;
  int64_t rows_ = 0;
  int64_t levels_ = 0;
  std::optional<ParquetColumn> dictionary_;
  std::vector<uint32_t> repetitions_;
  std::vector<uint32_t> definitions_;
  bool wants_places_ = false;
  std::vector<absl::string_view> places_;
};

absl::StatusOr<int> ParquetFile::FindOrSay(absl::string_view name) const {
  const int leaf = Find(name);
  if (leaf >= 0) return leaf;
  std::vector<std::string> names;
  for (const Leaf& one : leaves_) names.push_back(one.name);
  return absl::NotFoundError(absl::StrCat("has no column ", name, "; it has ",
                                          absl::StrJoin(names, ", ")));
}

namespace {

template <typename T>
absl::StatusOr<T> OfColumn(absl::string_view name, absl::StatusOr<T> read) {
  if (read.ok()) return read;
  return absl::Status(
      read.status().code(),
      absl::StrCat("column ", name, " ", read.status().message()));
}

}  // namespace

absl::StatusOr<ParquetColumn> ParquetFile::Read(absl::string_view name) const {
  ASSIGN_OR_RETURN(const int leaf, FindOrSay(name));
  return OfColumn(name, ColumnReader(*this, leaf).Read(0, groups()));
}

absl::StatusOr<ParquetColumn> ParquetFile::ReadGroup(absl::string_view name,
                                                     int group) const {
  ASSIGN_OR_RETURN(const int leaf, FindOrSay(name));
  return OfColumn(name, ColumnReader(*this, leaf).Read(group, group + 1));
}

absl::StatusOr<std::vector<absl::string_view>> ParquetFile::Places(
    absl::string_view name) const {
  ASSIGN_OR_RETURN(const int leaf, FindOrSay(name));
  return OfColumn(name, ColumnReader(*this, leaf).Places());
}

absl::string_view ParquetFile::Chunk(absl::string_view name, int group) const {
  const int leaf = Find(name);
  if (leaf < 0) return {};
  const ChunkPlace& chunk = groups_[group][leaf];
  return bytes_.substr(chunk.offset, chunk.bytes);
}

}  // namespace feedrate
