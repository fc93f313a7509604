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

constexpr absl::string_view kMagic = "PAR1";
// More values than bytes are possible where values repeat.
constexpr int64_t kValuesPerByte = 64;
constexpr int64_t kFewValues = 1 << 16;

// Numbers that repeat, or have few bits: Parquet's RLE/bit-packing hybrid.
absl::Status ReadHybrid(absl::string_view bytes, int width, int64_t count,
                        std::vector<uint32_t>* out) {
  if (width > 32) return CutOff();
  out->clear();
  const auto left = [&] { return count - static_cast<int64_t>(out->size()); };
  while (left() > 0) {
    ASSIGN_OR_RETURN(const uint64_t head, ReadVarint(&bytes));
    if (head & 1) {
      // Groups of eight. The last may have more than there are.
      const uint64_t groups = head >> 1;
      if (groups > bytes.size() + 1 || groups == 0) return CutOff();
      ASSIGN_OR_RETURN(const absl::string_view packed,
                       Take(groups * width, &bytes));
      const int64_t values =
          std::min<int64_t>(left(), static_cast<int64_t>(groups) * 8);
      for (int64_t i = 0; i < values; ++i) {
        uint64_t value = 0;
        for (int64_t bit = i * width; bit < (i + 1) * width; ++bit) {
          const uint64_t one = static_cast<uint8_t>(packed[bit / 8]);
          value |= (one >> (bit % 8) & 1) << (bit - i * width);
        }
        out->push_back(static_cast<uint32_t>(value));
      }
    } else {
      ASSIGN_OR_RETURN(const absl::string_view value,
                       Take((width + 7) / 8, &bytes));
      const auto repeats = static_cast<int64_t>(
          std::min<uint64_t>(head >> 1, static_cast<uint64_t>(left())));
      if (repeats == 0) return CutOff();
      out->insert(out->end(), repeats,
                  static_cast<uint32_t>(LittleEndian(
                      value.data(), static_cast<int>(value.size()))));
    }
  }
  return absl::OkStatus();
}

int BitsOf(int level) {
  int bits = 0;
  for (; level > 0; level >>= 1) ++bits;
  return bits;
}

// Of Parquet's Type, Encoding, CompressionCodec and PageType.
enum Type {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kFloat = 4,
  kDouble64 = 5,
  kByteArray = 6
};
enum Encoding {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kRleDictionary = 8
};
enum Codec { kUncompressed = 0, kSnappy = 1 };
enum PageType { kDataPage = 0, kDictionaryPage = 2, kDataPage2 = 3 };

absl::Status ReadPlain(absl::string_view bytes, int type, int64_t count,
                       ParquetColumn* out) {
  for (int64_t i = 0; i < count; ++i) {
    if (type == kBoolean) {
      if (static_cast<size_t>(i / 8) >= bytes.size()) return CutOff();
      out->integers.push_back(static_cast<uint8_t>(bytes[i / 8]) >> (i % 8) &
                              1);
      continue;
    }
    const bool is_short =
        type == kInt32 || type == kFloat || type == kByteArray;
    ASSIGN_OR_RETURN(const absl::string_view raw,
                     Take(is_short ? 4 : 8, &bytes));
    if (type == kInt32) {
      out->integers.push_back(static_cast<int32_t>(LittleEndian32(raw.data())));
    } else if (type == kInt64) {
      out->integers.push_back(static_cast<int64_t>(LittleEndian64(raw.data())));
    } else if (type == kFloat) {
      float value = 0;
      std::memcpy(&value, raw.data(), sizeof(value));
      out->numbers.push_back(value);
    } else if (type == kDouble64) {
      double value = 0;
      std::memcpy(&value, raw.data(), sizeof(value));
      out->numbers.push_back(value);
    } else {
      ASSIGN_OR_RETURN(const absl::string_view text,
                       Take(LittleEndian32(raw.data()), &bytes));
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
    if (i >= from.size()) return CutOff();
    *most_bytes -= BytesOf(from[i]);
    if (*most_bytes < 0) return Wrong("has too long texts");
    to->push_back(from[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Unpack(absl::string_view page, int codec,
                                   int64_t size) {
  if (codec == kUncompressed) return std::string(page);
  if (codec == kSnappy) return UnpackSnappy(page, size);
  return Wrong(
      "is compressed by another method than Snappy; write it again with "
      "compression=\"snappy\"");
}

}  // namespace

absl::StatusOr<std::string> UnpackSnappy(absl::string_view packed,
                                         int64_t size) {
  ASSIGN_OR_RETURN(const uint64_t stated, ReadVarint(&packed));
  // Three bytes stand for 64 at most.
  if (stated != static_cast<uint64_t>(size) ||
      stated > 32 * packed.size() + 64) {
    return CutOff();
  }
  std::string out;
  out.reserve(size);
  while (!packed.empty()) {
    const auto tag = static_cast<uint8_t>(packed.front());
    packed.remove_prefix(1);
    if ((tag & 3) == 0) {
      uint64_t length = tag >> 2;
      if (length >= 60) {
        ASSIGN_OR_RETURN(const absl::string_view more,
                         Take(length - 59, &packed));
        length = LittleEndian(more.data(), static_cast<int>(more.size()));
      }
      ASSIGN_OR_RETURN(const absl::string_view text, Take(length + 1, &packed));
      if (out.size() + text.size() > stated) return CutOff();
      out.append(text.data(), text.size());
      continue;
    }
    const size_t more_bytes = (tag & 3) == 3 ? 4 : tag & 3;
    ASSIGN_OR_RETURN(const absl::string_view more, Take(more_bytes, &packed));
    uint64_t back = LittleEndian(more.data(), static_cast<int>(more.size()));
    uint64_t length = (tag >> 2) + 1;
    if ((tag & 3) == 1) {
      back |= static_cast<uint64_t>(tag >> 5) << 8;
      length = (tag >> 2 & 7) + 4;
    }
    if (back == 0 || back > out.size() || out.size() + length > stated) {
      return CutOff();
    }
    // May overlap: what was just written is copied again.
    for (uint64_t i = 0; i < length; ++i) out.push_back(out[out.size() - back]);
  }
  if (out.size() != stated) return CutOff();
  return out;
}

absl::StatusOr<ParquetFile> ParquetFile::Parse(absl::string_view bytes) {
  constexpr size_t kTail = 8;
  if (bytes.size() < kMagic.size() + kTail || !absl::EndsWith(bytes, kMagic) ||
      !absl::StartsWith(bytes, kMagic)) {
    return Wrong("is no Parquet file, or cut off");
  }
  const size_t footer = LittleEndian32(bytes.data() + bytes.size() - kTail);
  if (footer > bytes.size() - kTail - kMagic.size()) return CutOff();
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
      return CutOff();
    }
    if (element[5].number > 0) {
      if (open.size() > kMostThriftNested) return Wrong("is nested too deep");
      open.push_back({element[5].number, std::move(leaf)});
    } else if (i > 0) {
      leaf.type = static_cast<int>(element[1].number);
      leaves_.push_back(std::move(leaf));
    }
    while (!open.empty() && open.back().left == 0) open.pop_back();
  }
  return open.empty() ? absl::OkStatus() : CutOff();
}

absl::Status ParquetFile::ReadGroups(const Thrift& groups) {
  const auto size = static_cast<int64_t>(bytes_.size());
  int64_t rows = 0;
  for (const Thrift& group : groups.list) {
    if (group[1].list.size() != leaves_.size()) return CutOff();
    std::vector<Chunk>& chunks = groups_.emplace_back();
    for (const Thrift& column : group[1].list) {
      const Thrift& meta = column[3];
      Chunk chunk;
      chunk.codec = static_cast<int>(meta[4].number);
      chunk.values = meta[5].number;
      chunk.bytes = meta[7].number;
      chunk.offset = meta[9].number;
      if (meta[11].number > 0) {
        chunk.offset = std::min(chunk.offset, meta[11].number);
      }
      if (chunk.values < 0 || chunk.offset < 0 || chunk.bytes < 0 ||
          chunk.offset > size || chunk.bytes > size - chunk.offset) {
        return CutOff();
      }
      chunks.push_back(chunk);
    }
    const int64_t more = group[3].number;
    if (more < 0 || more > rows_ - rows) return CutOff();
    rows += more;
  }
  return rows == rows_ ? absl::OkStatus() : CutOff();
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

  absl::StatusOr<ParquetColumn> Read() {
    if (leaf_.max_repetition > 1) return Wrong("has lists of lists");
    if (leaf_.type != kBoolean && leaf_.type != kInt32 &&
        leaf_.type != kInt64 && leaf_.type != kFloat &&
        leaf_.type != kDouble64 && leaf_.type != kByteArray) {
      return Wrong("has values of a type that is not supported");
    }
    for (const auto& group : file_.groups_) {
      RETURN_IF_ERROR(ReadChunk(group[number_]));
    }
    if (leaf_.max_repetition > 0) column_.begins.push_back(Size());
    if (rows_ == file_.rows_) return std::move(column_);
    return Wrong(absl::StrCat("has ", rows_, " rows, not ", file_.rows_));
  }

 private:
  absl::Status ReadChunk(const ParquetFile::Chunk& chunk) {
    absl::string_view bytes = file_.bytes_.substr(chunk.offset, chunk.bytes);
    dictionary_.reset();
    for (int64_t left = chunk.values; left > 0;) {
      Thrift header;
      RETURN_IF_ERROR(ReadThrift(&bytes, &header));
      if (header[3].number < 0) return CutOff();
      ASSIGN_OR_RETURN(const absl::string_view page,
                       Take(header[3].number, &bytes));
      if (header[1].number == kDictionaryPage) {
        RETURN_IF_ERROR(ReadDictionary(header, page, chunk.codec));
      } else if (header[1].number == kDataPage ||
                 header[1].number == kDataPage2) {
        const bool is_new = header[1].number == kDataPage2;
        const int64_t values = header[is_new ? 8 : 5][1].number;
        if (values <= 0 || values > left) return CutOff();
        left -= values;
        levels_ += values;
        if (levels_ > most_values_) return Wrong("has too many values");
        RETURN_IF_ERROR(is_new ? ReadNew(header, page, chunk.codec)
                               : ReadOld(header, page, chunk.codec));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadDictionary(const Thrift& header, absl::string_view page,
                              int codec) {
    const int64_t count = header[7][1].number;
    if (count < 0 || count > most_values_) return CutOff();
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
    ASSIGN_OR_RETURN(const absl::string_view size, Take(4, bytes));
    ASSIGN_OR_RETURN(const absl::string_view coded,
                     Take(LittleEndian32(size.data()), bytes));
    return ReadHybrid(coded, BitsOf(most), count, levels);
  }

  absl::Status ReadNew(const Thrift& header, absl::string_view page,
                       int codec) {
    const Thrift& own = header[8];
    const int64_t count = own[1].number;
    const int64_t sizes[] = {own[6].number, own[5].number};
    const int most[] = {leaf_.max_repetition, leaf_.max_definition};
    std::vector<uint32_t>* const levels[] = {&repetitions_, &definitions_};
    for (int i = 0; i < 2; ++i) {
      if (sizes[i] < 0) return CutOff();
      ASSIGN_OR_RETURN(const absl::string_view coded, Take(sizes[i], &page));
      levels[i]->clear();
      if (most[i] == 0) continue;
      RETURN_IF_ERROR(ReadHybrid(coded, BitsOf(most[i]), count, levels[i]));
    }
    const bool is_packed = !own.has(7) || own[7].number == 1;
    ASSIGN_OR_RETURN(
        const std::string plain,
        Unpack(page, is_packed && !page.empty() ? codec : int{kUncompressed},
               header[2].number - sizes[0] - sizes[1]));
    return Add(static_cast<int>(own[4].number), count, plain);
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
        return CutOff();
      }
      if (is_value) {
        ++present;
      } else if (leaf_.max_repetition == 0 || !is_row ||
                 definition > leaf_.list_definition) {
        return Wrong(absl::StrCat("has no value in row ", rows_ - 1));
      }
    }
    RETURN_IF_ERROR(AddValues(encoding, present, bytes));
    return Size() == before + present ? absl::OkStatus() : CutOff();
  }

  absl::Status AddValues(int encoding, int64_t count, absl::string_view bytes) {
    if (encoding == kPlain) {
      return ReadPlain(bytes, leaf_.type, count, &column_);
    }
    std::vector<uint32_t> numbers;
    if (encoding == kRle && leaf_.type == kBoolean) {
      ASSIGN_OR_RETURN(const absl::string_view size, Take(4, &bytes));
      ASSIGN_OR_RETURN(const absl::string_view coded,
                       Take(LittleEndian32(size.data()), &bytes));
      RETURN_IF_ERROR(ReadHybrid(coded, 1, count, &numbers));
      column_.integers.insert(column_.integers.end(), numbers.begin(),
                              numbers.end());
      return absl::OkStatus();
    }
    if (encoding != kPlainDictionary && encoding != kRleDictionary) {
      return Wrong(absl::StrCat("has the encoding ", encoding,
                                ", which is not supported; write it again "
                                "without column_encoding"));
    }
    if (!dictionary_.has_value()) return CutOff();
    if (count == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const absl::string_view width, Take(1, &bytes));
    RETURN_IF_ERROR(
        ReadHybrid(bytes, static_cast<uint8_t>(width[0]), count, &numbers));
    // Those that the type has none of are empty.
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
};

absl::StatusOr<ParquetColumn> ParquetFile::Read(absl::string_view name) const {
  const int leaf = Find(name);
  if (leaf < 0) {
    std::vector<std::string> names;
    for (const Leaf& one : leaves_) names.push_back(one.name);
    return absl::NotFoundError(absl::StrCat("has no column ", name, "; it has ",
                                            absl::StrJoin(names, ", ")));
  }
  absl::StatusOr<ParquetColumn> column = ColumnReader(*this, leaf).Read();
  if (column.ok()) return column;
  return absl::Status(
      column.status().code(),
      absl::StrCat("column ", name, " ", column.status().message()));
}

}  // namespace feedrate
