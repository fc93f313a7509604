#include "lib/storage/tfrecord.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kChecksumBytes = 4;
constexpr size_t kHeadBytes = kLengthBytes + kChecksumBytes;
static_assert(kHeadBytes == kTfRecordHeadBytes);
static_assert(kChecksumBytes == kTfRecordTailBytes);

}  // namespace

void AppendTfRecord(absl::string_view data, std::string* out) {
  const size_t start = out->size();
  AppendLittleEndian64(data.size(), out);
  const uint32_t checksum =
      MaskedCrc32c(absl::string_view(*out).substr(start, kLengthBytes));
  AppendLittleEndian32(checksum, out);
  absl::StrAppend(out, data);
  AppendLittleEndian32(MaskedCrc32c(data), out);
}

absl::Status TfRecordCursor::Damage(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(name_, ": record ", count_,
                                          " at byte ", offset_, ": ", what));
}

absl::StatusOr<std::optional<absl::string_view>> TfRecordCursor::Advance(
    bool checks_data) {
  if (!can_go_on_ || offset_ == static_cast<int64_t>(bytes_.size())) {
    return std::nullopt;
  }
  const absl::string_view rest = bytes_.substr(offset_);
  can_go_on_ = false;
  if (rest.size() < kHeadBytes) return Damage("the file ends in its length");
  const absl::string_view length_bytes = rest.substr(0, kLengthBytes);
  if (LittleEndian32(rest.data() + kLengthBytes) !=
      MaskedCrc32c(length_bytes)) {
    return Damage(
        "wrong checksum of its length; not a TFRecord file, or damaged");
  }
  const uint64_t length = LittleEndian64(rest.data());
  const uint64_t behind_head = rest.size() - kHeadBytes;
  if (behind_head < kChecksumBytes || length > behind_head - kChecksumBytes) {
    return Damage(absl::StrCat("cut off: ", length,
                               " bytes of data, the file has ", behind_head,
                               " more"));
  }
  can_go_on_ = true;
  const absl::string_view data = rest.substr(kHeadBytes, length);
  const bool is_right = !checks_data || LittleEndian32(data.data() + length) ==
                                            MaskedCrc32c(data);
  const absl::Status damage =
      is_right ? absl::OkStatus() : Damage("wrong checksum of its data");
  offset_ += kHeadBytes + length + kChecksumBytes;
  ++count_;
  if (!is_right) return damage;
  return data;
}

absl::StatusOr<std::optional<absl::string_view>> TfRecordCursor::Next() {
  return Advance(/*checks_data=*/true);
}

absl::StatusOr<std::optional<absl::string_view>>
TfRecordCursor::NextUnchecked() {
  return Advance(/*checks_data=*/false);
}

namespace {

constexpr int kMostVarintBytes = 10;

// One field of a message in protobuf's wire format.
struct WireField {
  enum Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint32_t number = 0;
  Type type = kVarint;
  // kVarint, kFixed64, kFixed32.
  uint64_t value = 0;
  // kBytes.
  absl::string_view bytes;
};

// Iterates over the fields of a message, in place.
class WireCursor {
 public:
  explicit WireCursor(absl::string_view message) : rest_(message) {}

  // Returns false at the end, and when the bytes are not a field; then
  // is_broken is set. Groups, which proto3 does not have, count as broken.
  bool Next(WireField* field);
  // The next number of a packed list.
  bool NextVarint(uint64_t* value);

  bool at_end() const { return rest_.empty(); }
  bool is_broken() const { return is_broken_; }

 private:
  bool Break() {
    is_broken_ = true;
    rest_ = absl::string_view();
    return false;
  }

  absl::string_view rest_;
  bool is_broken_ = false;
};

bool WireCursor::NextVarint(uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < rest_.size() && i < kMostVarintBytes; ++i) {
    const auto byte = static_cast<uint8_t>(rest_[i]);
    *value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return rest_.empty() ? false : Break();
}

bool WireCursor::Next(WireField* field) {
  uint64_t tag = 0;
  if (!NextVarint(&tag)) return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  if (tag > 0xffffffffu || field->number == 0) return Break();
  field->type = static_cast<WireField::Type>(tag & 7);
  size_t fixed = 0;
  switch (field->type) {
    case WireField::kVarint:
      return NextVarint(&field->value) || Break();
    case WireField::kBytes: {
      uint64_t size = 0;
      if (!NextVarint(&size) || size > rest_.size()) return Break();
      field->bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
    case WireField::kFixed64:
      fixed = 8;
      break;
    case WireField::kFixed32:
      fixed = 4;
      break;
    default:
      return Break();
  }
  if (rest_.size() < fixed) return Break();
  field->value = LittleEndian(rest_.data(), static_cast<int>(fixed));
  rest_.remove_prefix(fixed);
  return true;
}

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// A field of type kBytes.
void AppendBytesField(uint32_t number, absl::string_view bytes,
                      std::string* out) {
  AppendVarint(uint64_t{number} << 3 | WireField::kBytes, out);
  AppendVarint(bytes.size(), out);
  absl::StrAppend(out, bytes);
}

// Field numbers of the messages Example and Features and of map entries. All
// lists have their values in field 1.
constexpr uint32_t kFeatures = 1;
constexpr uint32_t kFeatureEntry = 1;
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;
constexpr uint32_t kValues = 1;

constexpr char kBroken[] = "not a tf.train.Example: broken wire format";

absl::Status BrokenList(absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("feature \"", name, "\": broken list"));
}

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

const char* KindName(int kind) {
  static constexpr const char* kNames[] = {"nothing", "bytes", "floats",
                                           "integers"};
  return kNames[kind];
}

}  // namespace

absl::Status ExampleView::Parse(absl::string_view bytes) {
  names_.clear();
  features_.clear();
  WireCursor example(bytes);
  WireField field;
  while (example.Next(&field)) {
    if (field.number != kFeatures || field.type != WireField::kBytes) continue;
    WireCursor features(field.bytes);
    WireField entry;
    while (features.Next(&entry)) {
      if (entry.number != kFeatureEntry || entry.type != WireField::kBytes) {
        continue;
      }
      RETURN_IF_ERROR(AddFeature(entry.bytes));
    }
    if (features.is_broken()) return absl::InvalidArgumentError(kBroken);
  }
  if (example.is_broken()) return absl::InvalidArgumentError(kBroken);
  return absl::OkStatus();
}

absl::Status ExampleView::AddFeature(absl::string_view entry) {
  absl::string_view name;
  Feature feature;
  WireCursor cursor(entry);
  WireField field;
  while (cursor.Next(&field)) {
    if (field.type != WireField::kBytes) continue;
    if (field.number == kKey) name = field.bytes;
    if (field.number != kValue) continue;
    WireCursor value(field.bytes);
    WireField list;
    while (value.Next(&list)) {
      if (list.type != WireField::kBytes || list.number > 3) continue;
      feature = {static_cast<Kind>(list.number), list.bytes};
    }
    if (value.is_broken()) return absl::InvalidArgumentError(kBroken);
  }
  if (cursor.is_broken()) return absl::InvalidArgumentError(kBroken);
  names_.push_back(name);
  features_.push_back(feature);
  return absl::OkStatus();
}

const ExampleView::Feature* ExampleView::Find(absl::string_view name) const {
  // Episodes have few features, so a scan is faster than a table.
  for (size_t i = names_.size(); i-- > 0;) {
    if (names_[i] == name) return &features_[i];
  }
  return nullptr;
}

absl::StatusOr<absl::string_view> ExampleView::ListOf(absl::string_view name,
                                                      Kind kind) const {
  const Feature* feature = Find(name);
  if (feature == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "no feature \"", name, "\"; it has ", absl::StrJoin(names_, ", ")));
  }
  // An empty list is written as a feature without a kind.
  if (feature->kind == kind || feature->kind == Kind::kNone) {
    return feature->list;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "feature \"", name, "\" has ", KindName(static_cast<int>(feature->kind)),
      ", not ", KindName(static_cast<int>(kind))));
}

absl::Status ExampleView::Bytes(absl::string_view name,
                                std::vector<absl::string_view>* out) const {
  out->clear();
  ASSIGN_OR_RETURN(const absl::string_view list, ListOf(name, Kind::kBytes));
  WireCursor cursor(list);
  WireField field;
  while (cursor.Next(&field)) {
    if (field.number != kValues) continue;
    if (field.type != WireField::kBytes) return BrokenList(name);
    out->push_back(field.bytes);
  }
  return cursor.is_broken() ? BrokenList(name) : absl::OkStatus();
}

absl::Status ExampleView::Floats(absl::string_view name,
                                 std::vector<float>* out) const {
  out->clear();
  ASSIGN_OR_RETURN(const absl::string_view list, ListOf(name, Kind::kFloats));
  WireCursor cursor(list);
  WireField field;
  while (cursor.Next(&field)) {
    if (field.number != kValues) continue;
    if (field.type == WireField::kFixed32) {
      out->push_back(FloatOf(static_cast<uint32_t>(field.value)));
      continue;
    }
    if (field.type != WireField::kBytes || field.bytes.size() % 4 != 0) {
      return BrokenList(name);
    }
    for (size_t i = 0; i < field.bytes.size(); i += 4) {
      out->push_back(FloatOf(LittleEndian32(field.bytes.data() + i)));
    }
  }
  return cursor.is_broken() ? BrokenList(name) : absl::OkStatus();
}

absl::Status ExampleView::Integers(absl::string_view name,
                                   std::vector<int64_t>* out) const {
  out->clear();
  ASSIGN_OR_RETURN(const absl::string_view list, ListOf(name, Kind::kIntegers));
  WireCursor cursor(list);
  WireField field;
  while (cursor.Next(&field)) {
    if (field.number != kValues) continue;
    if (field.type == WireField::kVarint) {
      out->push_back(static_cast<int64_t>(field.value));
      continue;
    }
    if (field.type != WireField::kBytes) return BrokenList(name);
    WireCursor packed(field.bytes);
    uint64_t value = 0;
    while (packed.NextVarint(&value)) {
      out->push_back(static_cast<int64_t>(value));
    }
    if (packed.is_broken()) return BrokenList(name);
  }
  return cursor.is_broken() ? BrokenList(name) : absl::OkStatus();
}

void ExampleBuilder::AddBytes(absl::string_view name,
                              const std::vector<absl::string_view>& values) {
  std::string list;
  for (const absl::string_view value : values) {
    AppendBytesField(kValues, value, &list);
  }
  Add(name, 1, list);
}

void ExampleBuilder::AddFloats(absl::string_view name,
                               const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    AppendLittleEndian32(bits, &packed);
  }
  std::string list;
  AppendBytesField(kValues, packed, &list);
  Add(name, 2, list);
}

void ExampleBuilder::AddIntegers(absl::string_view name,
                                 const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) {
    AppendVarint(static_cast<uint64_t>(value), &packed);
  }
  std::string list;
  AppendBytesField(kValues, packed, &list);
  Add(name, 3, list);
}

void ExampleBuilder::Add(absl::string_view name, int kind,
                         absl::string_view list) {
  std::string feature;
  AppendBytesField(static_cast<uint32_t>(kind), list, &feature);
  std::string entry;
  AppendBytesField(kKey, name, &entry);
  AppendBytesField(kValue, feature, &entry);
  AppendBytesField(kFeatureEntry, entry, &features_);
}

std::string ExampleBuilder::Serialized() const {
  std::string message;
  AppendBytesField(kFeatures, features_, &message);
  return message;
}

}  // namespace feedrate
