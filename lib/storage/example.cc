#include "lib/storage/example.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/storage/little_endian.h"
#include "lib/storage/wire.h"

namespace feedrate {
namespace {

// Field numbers of the messages Example, Features and its map's entries. All
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
  // Episodes have a handful of features: a scan beats a table.
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
  // An empty list is written as a feature of no kind.
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

std::string ExampleBuilder::Serialised() const {
  std::string message;
  AppendBytesField(kFeatures, features_, &message);
  return message;
}

}  // namespace feedrate
