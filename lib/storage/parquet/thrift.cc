#include "lib/storage/parquet/thrift.h"

#include <zlib.h>
#include <zstd.h>

#include <limits>

#include "lib/base/status_macros.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {

absl::Status BadParquet(absl::string_view what) {
  return absl::InvalidArgumentError(what);
}
absl::Status CutOffParquet() { return BadParquet("is cut off or damaged"); }

absl::StatusOr<uint64_t> ReadVarint(absl::string_view* bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return CutOffParquet();
}

absl::StatusOr<absl::string_view> TakeBytes(uint64_t size,
                                            absl::string_view* bytes) {
  if (size > bytes->size()) return CutOffParquet();
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

// A whole number that `Number` can hold.
template <typename Number>
absl::StatusOr<int64_t> ReadNumber(absl::string_view* bytes) {
  ASSIGN_OR_RETURN(const uint64_t raw, ReadVarint(bytes));
  const auto number = static_cast<int64_t>(raw >> 1 ^ -(raw & 1));
  if (number < std::numeric_limits<Number>::min() ||
      number > std::numeric_limits<Number>::max()) {
    return BadParquet("has a number that is too large for its type");
  }
  return number;
}

absl::Status ReadList(int nested, absl::string_view* bytes, Thrift* value) {
  ASSIGN_OR_RETURN(const absl::string_view head, TakeBytes(1, bytes));
  const auto byte = static_cast<uint8_t>(head[0]);
  uint64_t size = byte >> 4;
  if (size == 15) {
    ASSIGN_OR_RETURN(size, ReadVarint(bytes));
  }
  // Each needs at least a byte.
  if (size > bytes->size()) return CutOffParquet();
  for (uint64_t i = 0; i < size; ++i) {
    RETURN_IF_ERROR(ReadValue(byte & 15, /*in_list=*/true, nested, bytes,
                              &value->list.emplace_back()));
  }
  return absl::OkStatus();
}

absl::Status ReadStruct(int nested, absl::string_view* bytes, Thrift* value) {
  int id = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const absl::string_view head, TakeBytes(1, bytes));
    const auto byte = static_cast<uint8_t>(head[0]);
    if (byte == kStop) return absl::OkStatus();
    if (byte >> 4 != 0) {
      id += byte >> 4;
    } else {
      ASSIGN_OR_RETURN(const int64_t number, ReadNumber<int16_t>(bytes));
      id = static_cast<int>(number);
    }
    value->ids.push_back(id);
    RETURN_IF_ERROR(ReadValue(byte & 15, /*in_list=*/false, nested, bytes,
                              &value->fields.emplace_back()));
  }
}

absl::Status ReadValue(int type, bool in_list, int nested,
                       absl::string_view* bytes, Thrift* value) {
  if (nested > kMostThriftNested) return BadParquet("is nested too deep");
  switch (type) {
    case kTrue:
    case kFalse: {
      value->number = type == kTrue ? 1 : 0;
      if (!in_list) return absl::OkStatus();
      ASSIGN_OR_RETURN(const absl::string_view byte, TakeBytes(1, bytes));
      value->number = byte[0] == 1 ? 1 : 0;
      return absl::OkStatus();
    }
    case kByte:
      return TakeBytes(1, bytes).status();
    case kShort: {
      ASSIGN_OR_RETURN(value->number, ReadNumber<int16_t>(bytes));
      return absl::OkStatus();
    }
    case kInt: {
      ASSIGN_OR_RETURN(value->number, ReadNumber<int32_t>(bytes));
      return absl::OkStatus();
    }
    case kLong: {
      ASSIGN_OR_RETURN(value->number, ReadNumber<int64_t>(bytes));
      return absl::OkStatus();
    }
    case kDouble:
      return TakeBytes(8, bytes).status();
    case kBinary: {
      ASSIGN_OR_RETURN(const uint64_t size, ReadVarint(bytes));
      ASSIGN_OR_RETURN(value->text, TakeBytes(size, bytes));
      return absl::OkStatus();
    }
    case kList:
    case kSet:
      return ReadList(nested + 1, bytes, value);
    case kStruct:
      return ReadStruct(nested + 1, bytes, value);
    default:
      return BadParquet("its description is damaged");
  }
}

}  // namespace

absl::Status ReadThrift(absl::string_view* bytes, Thrift* value) {
  return ReadStruct(0, bytes, value);
}

absl::Status ReadHybrid(absl::string_view bytes, int width, int64_t count,
                        std::vector<uint32_t>* out) {
  if (width > 32) return CutOffParquet();
  out->clear();
  const auto left = [&] { return count - static_cast<int64_t>(out->size()); };
  while (left() > 0) {
    ASSIGN_OR_RETURN(const uint64_t head, ReadVarint(&bytes));
    if (head & 1) {
      // Groups of eight. The last may have more than there are.
      const uint64_t groups = head >> 1;
      if (groups > bytes.size() + 1 || groups == 0) return CutOffParquet();
      ASSIGN_OR_RETURN(const absl::string_view packed,
                       TakeBytes(groups * width, &bytes));
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
                       TakeBytes((width + 7) / 8, &bytes));
      const auto repeats = static_cast<int64_t>(
          std::min<uint64_t>(head >> 1, static_cast<uint64_t>(left())));
      if (repeats == 0) return CutOffParquet();
      out->insert(out->end(), repeats,
                  static_cast<uint32_t>(LittleEndian(
                      value.data(), static_cast<int>(value.size()))));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> UnpackSnappy(absl::string_view packed,
                                         int64_t size) {
  ASSIGN_OR_RETURN(const uint64_t stated, ReadVarint(&packed));
  // Three bytes stand for 64 at most.
  if (stated != static_cast<uint64_t>(size) ||
      stated > 32 * packed.size() + 64) {
    return CutOffParquet();
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
                         TakeBytes(length - 59, &packed));
        length = LittleEndian(more.data(), static_cast<int>(more.size()));
      }
      ASSIGN_OR_RETURN(const absl::string_view text,
                       TakeBytes(length + 1, &packed));
      if (out.size() + text.size() > stated) return CutOffParquet();
      out.append(text.data(), text.size());
      continue;
    }
    const size_t more_bytes = (tag & 3) == 3 ? 4 : tag & 3;
    ASSIGN_OR_RETURN(const absl::string_view more,
                     TakeBytes(more_bytes, &packed));
    uint64_t back = LittleEndian(more.data(), static_cast<int>(more.size()));
    uint64_t length = (tag >> 2) + 1;
    if ((tag & 3) == 1) {
      back |= static_cast<uint64_t>(tag >> 5) << 8;
      length = (tag >> 2 & 7) + 4;
    }
    if (back == 0 || back > out.size() || out.size() + length > stated) {
      return CutOffParquet();
    }
    // May overlap: what was just written is copied again.
    for (uint64_t i = 0; i < length; ++i) out.push_back(out[out.size() - back]);
  }
  if (out.size() != stated) return CutOffParquet();
  return out;
}

absl::StatusOr<std::string> UnpackGzip(absl::string_view packed, int64_t size) {
  // A byte stands for 1,032 at most.
  if (size < 0 || static_cast<uint64_t>(size) / 1032 > packed.size() ||
      packed.size() > std::numeric_limits<uInt>::max() / 2 ||
      size > std::numeric_limits<uInt>::max() / 2) {
    return CutOffParquet();
  }
  // One byte more shows what is too long.
  std::string out(static_cast<size_t>(size) + 1, 0);
  z_stream stream = {};
  constexpr int kWithGzipHeader = 16;
  if (inflateInit2(&stream, kWithGzipHeader + MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError("memory ran out");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END &&
                        stream.total_out == static_cast<uLong>(size);
  inflateEnd(&stream);
  if (!is_whole) return BadParquet("has damaged gzip data");
  out.pop_back();
  return out;
}

absl::StatusOr<std::string> UnpackZstd(absl::string_view packed, int64_t size) {
  // A block of 128 KiB that repeats one byte takes four.
  constexpr uint64_t kMostPerByte = (128 << 10) / 4;
  if (size < 0 || static_cast<uint64_t>(size) / kMostPerByte > packed.size()) {
    return CutOffParquet();
  }
  std::string out(static_cast<size_t>(size), 0);
  if (ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) !=
      out.size()) {
    return BadParquet("has damaged zstd data");
  }
  return out;
}

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) {
    out->push_back(static_cast<char>(value | 0x80));
  }
  out->push_back(static_cast<char>(value));
}

void ThriftWriter::Head(int id, int type) {
  out_.push_back(static_cast<char>((id - last_.back()) << 4 | type));
  last_.back() = id;
}

void ThriftWriter::IntElement(int64_t value) {
  // Zigzag: small negative numbers are short too.
  AppendVarint(
      static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63),
      &out_);
}

void ThriftWriter::TextElement(absl::string_view value) {
  AppendVarint(value.size(), &out_);
  out_.append(value.data(), value.size());
}

void ThriftWriter::Int(int id, int64_t value) {
  Head(id, kInt);
  IntElement(value);
}

void ThriftWriter::Long(int id, int64_t value) {
  Head(id, kLong);
  IntElement(value);
}

void ThriftWriter::Text(int id, absl::string_view value) {
  Head(id, kBinary);
  TextElement(value);
}

void ThriftWriter::Begin(int id) {
  Head(id, kStruct);
  last_.push_back(0);
}

void ThriftWriter::End() {
  out_.push_back(kStop);
  last_.pop_back();
}

void ThriftWriter::List(int id, Elements type, size_t size) {
  Head(id, kList);
  if (size < 15) {
    out_.push_back(static_cast<char>(size << 4 | type));
  } else {
    out_.push_back(static_cast<char>(0xf0 | type));
    AppendVarint(size, &out_);
  }
}

}  // namespace feedrate
