#include "lib/analysis/rows/fields.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/records/attempts.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// Protobuf's own search costs more than the rest of FieldOf.
const FieldDescriptor* FindInRow(absl::string_view name) {
  static const auto* const kFields = [] {
    auto* const fields =
        new absl::flat_hash_map<std::string, const FieldDescriptor*>;
    for (int i = 0; i < Row::descriptor()->field_count(); ++i) {
      const FieldDescriptor* const field = Row::descriptor()->field(i);
      fields->emplace(field->name(), field);
    }
    return fields;
  }();
  const auto found = kFields->find(name);
  return found == kFields->end() ? nullptr : found->second;
}

const FieldDescriptor* FindIn(const Descriptor* type, absl::string_view name) {
  static const Descriptor* const kRow = Row::descriptor();
  if (type == kRow) return FindInRow(name);
  return type->FindFieldByName(std::string(name));
}

bool IsTextList(const FieldDescriptor* field) {
  return field->is_repeated() && !field->is_map() &&
         field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

FieldType TypeOf(const FieldDescriptor* field) {
  if (IsTextList(field)) return FieldType::kList;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return FieldType::kText;
    case FieldDescriptor::CPPTYPE_BOOL:
      return FieldType::kTruth;
    default:
      return FieldType::kNumber;
  }
}

// True for text and small integers, except those that differ in every row.
bool IsCategorical(const FieldDescriptor* field) {
  static const auto* const kPerRow = new absl::flat_hash_set<std::string>{
      "job_id", "run_index", "reason", "started_at", "run_id", "index"};
  if (kPerRow->contains(field->name())) return false;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_BOOL:
      return true;
    default:
      return false;
  }
}

absl::string_view Expand(absl::string_view name) {
  if (name == "cold") return "labels.cold";
  if (name == "exploratory") return "labels.exploratory";
  if (name == "dataset") return "dataset.id";
  return name;
}

absl::Status Unknown(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("unknown field \"", name, "\"",
                                          DidYouMean(name, FieldNames())));
}

// Settings are texts, counters numbers.
bool IsTextMap(const FieldDescriptor* field) {
  return field->message_type()->map_value()->cpp_type() ==
         FieldDescriptor::CPPTYPE_STRING;
}

absl::StatusOr<Field> Whole(Field field, const FieldDescriptor* found);

absl::StatusOr<Field> InPart(Field field, const FieldDescriptor* outer,
                             absl::string_view rest) {
  if (rest.empty()) return Unknown(field.name);
  if (outer->name() == "warnings") {
    // Those of row.proto. That no row has a warning does not make its name
    // wrong.
    static const auto* const kWarnings = new std::vector<std::string>{
        "noisy", "throttled", "migrated", "contended", "multithreaded", "noop"};
    if (std::find(kWarnings->begin(), kWarnings->end(), rest) ==
        kWarnings->end()) {
      return absl::NotFoundError(absl::StrCat(
          "unknown field \"", field.name, "\"", DidYouMean(rest, *kWarnings)));
    }
  }
  if (IsTextList(outer)) {
    field.item = std::string(rest);
    field.type = FieldType::kTruth;
    field.categorical = true;
    return field;
  }
  if (outer->is_map() && !IsTextMap(outer)) {
    field.sub_key = std::string(rest);
    field.type = FieldType::kNumber;
    field.has_presence = true;
    return field;
  }
  if (outer->is_map()) {
    field.sub_key = std::string(rest);
    field.type = FieldType::kSetting;
    field.categorical = true;
    field.has_presence = true;
    return field;
  }
  const FieldDescriptor* inner = outer;
  for (const absl::string_view name : absl::StrSplit(rest, '.')) {
    if (inner->is_repeated()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "field \"", field.name, "\" is inside the list ", inner->name(),
          ", of which a row has several; name one "
          "that is not in a list"));
    }
    inner = inner->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                ? FindIn(inner->message_type(), name)
                : nullptr;
    if (inner == nullptr) return Unknown(field.name);
  }
  field.sub_key = std::string(rest);
  ASSIGN_OR_RETURN(field, Whole(std::move(field), inner));
  field.has_presence = true;
  return field;
}

absl::StatusOr<Field> Whole(Field field, const FieldDescriptor* found) {
  if (found->is_map() && !IsTextMap(found)) {
    return absl::InvalidArgumentError(
        absl::StrCat("field \"", field.name, "\" has parts; name one, such as ",
                     field.name, ".items_per_second"));
  }
  if (found->is_map()) {
    field.type = FieldType::kText;
    field.categorical = true;
    return field;
  }
  if (found->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const std::string example = found->message_type()->field(0)->name();
    return absl::InvalidArgumentError(
        absl::StrCat("field \"", field.name, "\" has parts; name one, such as ",
                     field.name, ".", example));
  }
  if (found->is_repeated() && !IsTextList(found)) {
    return absl::InvalidArgumentError(
        absl::StrCat("field \"", field.name, "\" is a list of numbers"));
  }
  field.type = TypeOf(found);
  field.categorical = IsCategorical(found);
  field.has_presence = found->has_presence();
  field.is_double = found->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
  return field;
}

void AddNames(const Descriptor* type, const std::string& prefix,
              std::vector<std::string>* names) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_map() || (field->is_repeated() && !IsTextList(field))) {
      continue;
    }
    const std::string name = absl::StrCat(prefix, field->name());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddNames(field->message_type(), name + ".", names);
    } else {
      names->push_back(name);
    }
  }
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names = {"cold", "exploratory", "dataset",
                                    "settings"};
  AddNames(Row::descriptor(), "", &names);
  return names;
}

Value Singular(const Message& message, const FieldDescriptor* field) {
  const Reflection& reflection = *message.GetReflection();
  if (field->has_presence() && !reflection.HasField(message, field)) {
    return Value();
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return NumberValue(reflection.GetInt32(message, field));
    case FieldDescriptor::CPPTYPE_INT64:
      return NumberValue(
          static_cast<double>(reflection.GetInt64(message, field)));
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double number = reflection.GetDouble(message, field);
      // NaN is absent, but not 0.
      Value value = NumberValue(number);
      if (std::isnan(number)) value.kind = Value::Kind::kAbsent;
      return value;
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return TruthValue(reflection.GetBool(message, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return TextValue(reflection.GetString(message, field));
    default:
      return Value();
  }
}

Value ListOf(const Message& message, const FieldDescriptor* field) {
  const Reflection& reflection = *message.GetReflection();
  Value list;
  list.kind = Value::Kind::kList;
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    list.list.push_back(reflection.GetRepeatedString(message, field, i));
  }
  return list;
}

Value Has(const Value& list, const std::string& item) {
  return TruthValue(std::find(list.list.begin(), list.list.end(), item) !=
                    list.list.end());
}

// All settings as one text, sorted by name. What could be taken for several
// settings is in quotes: they are other work.
Value SettingsText(const std::map<std::string, std::string>& settings) {
  std::string text;
  const auto append = [&text](const std::string& part, absl::string_view ends) {
    if (absl::StrContains(part, ends)) {
      AppendJsonString(part, &text);
    } else {
      text += part;
    }
  };
  for (const auto& [name, value] : settings) {
    if (!text.empty()) text += ", ";
    append(name, "=");
    text += '=';
    append(value, ", ");
  }
  return TextValue(text);
}

absl::StatusOr<Value> SettingsFromJson(absl::string_view json,
                                       const Field& field) {
  // A new one would allocate for its deepest nesting each time.
  thread_local simdjson::dom::parser parser;
  simdjson::dom::object object;
  const simdjson::padded_string padded(json.data(), json.size());
  const auto wrong_type = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("field \"", field.name, "\" is of the wrong type"));
  };
  if (!FindIn(Row::descriptor(), field.key)->is_map() ||
      parser.parse(padded).get(object) != simdjson::SUCCESS) {
    return wrong_type();
  }
  std::map<std::string, std::string> settings;
  for (const simdjson::dom::key_value_pair entry : object) {
    std::string_view text;
    if (entry.value.get(text) != simdjson::SUCCESS) return wrong_type();
    if (!settings.emplace(entry.key, text).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("field \"", field.name, "\" has \"",
                       absl::string_view(entry.key.data(), entry.key.size()),
                       "\" twice; which one counts?"));
    }
  }
  return SettingsText(settings);
}

// The value of a missing field without presence.
Value DefaultOf(const Field& field) {
  if (field.has_presence) return Value();
  switch (field.type) {
    case FieldType::kNumber:
      return NumberValue(0);
    case FieldType::kTruth:
      return TruthValue(false);
    case FieldType::kList: {
      Value value;
      value.kind = Value::Kind::kList;
      return value;
    }
    default:
      return TextValue("");
  }
}

}  // namespace

const std::vector<std::string>& FieldNames() {
  static const auto* const kNames = new std::vector<std::string>(AllNames());
  return *kNames;
}

absl::StatusOr<Field> FindField(absl::string_view name) {
  const absl::string_view path = Expand(name);
  const size_t dot = path.find('.');
  const FieldDescriptor* found = FindIn(Row::descriptor(), path.substr(0, dot));
  if (found == nullptr) return Unknown(name);
  Field field;
  field.name = std::string(name);
  field.key = found->name();
  if (dot == absl::string_view::npos) return Whole(std::move(field), found);
  return InPart(std::move(field), found, path.substr(dot + 1));
}

Value FieldOf(const Row& row, const Field& field) {
  const FieldDescriptor* outer = FindIn(Row::descriptor(), field.key);
  if (!field.item.empty()) return Has(ListOf(row, outer), field.item);
  if (outer->is_map() && field.sub_key.empty()) {
    return SettingsText({row.settings().begin(), row.settings().end()});
  }
  if (outer->is_map() && !IsTextMap(outer)) {
    const auto found = row.counters().find(field.sub_key);
    return found == row.counters().end() ? Value() : NumberValue(found->second);
  }
  if (outer->is_map()) {
    const auto found = row.settings().find(field.sub_key);
    return found == row.settings().end() ? Value() : TextValue(found->second);
  }
  const Message* part = &row;
  const FieldDescriptor* found = outer;
  if (!field.sub_key.empty()) {
    for (const absl::string_view name : absl::StrSplit(field.sub_key, '.')) {
      if (!part->GetReflection()->HasField(*part, found)) return Value();
      part = &part->GetReflection()->GetMessage(*part, found);
      found = FindIn(part->GetDescriptor(), name);
    }
  }
  return IsTextList(found) ? ListOf(*part, found) : Singular(*part, found);
}

absl::StatusOr<Value> FieldFromJson(absl::string_view json,
                                    const Field& field) {
  if (!json.empty() && json[0] == '{' && field.type == FieldType::kText) {
    return SettingsFromJson(json, field);
  }
  ASSIGN_OR_RETURN(Value value, ParseValue(json));
  const auto is = [&](Value::Kind kind) { return value.kind == kind; };
  if (is(Value::Kind::kAbsent)) {
    return std::isnan(value.number) && field.is_double ? value
                                                       : DefaultOf(field);
  }
  if (!field.item.empty()) {
    if (is(Value::Kind::kList)) return Has(value, field.item);
  } else if ((field.type == FieldType::kNumber && is(Value::Kind::kNumber)) ||
             (field.type == FieldType::kTruth && is(Value::Kind::kTruth)) ||
             (field.type == FieldType::kList && is(Value::Kind::kList)) ||
             ((field.type == FieldType::kText ||
               field.type == FieldType::kSetting) &&
              is(Value::Kind::kText))) {
    return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("field \"", field.name, "\" is of the wrong type"));
}

namespace {

constexpr int kMinuteBits = 26;
constexpr int64_t kMostAttempts = (1 << (32 - kMinuteBits)) - 1;

std::vector<Field> FindSameRunFields() {
  std::vector<Field> fields;
  for (const std::string& name : SameRunFields()) {
    const absl::StatusOr<Field> field = FindField(name);
    CHECK(field.ok()) << field.status();
    fields.push_back(*field);
  }
  return fields;
}

// Converts "2026-11-15T02:57:46Z" to minutes since 2020, with months of 31
// days; 0 for anything else. Only the order matters. 26 bits last until 2140.
uint32_t Minutes(absl::string_view at) {
  if (!at.empty() && at[0] == '"') at.remove_prefix(1);
  if (at.size() < 16) return 0;
  const auto two = [&](size_t i) {
    return static_cast<uint32_t>((at[i] - '0') * 10 + (at[i + 1] - '0'));
  };
  for (const size_t i : {0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15}) {
    if (at[i] < '0' || at[i] > '9') return 0;
  }
  const uint32_t year = two(0) * 100 + two(2);
  if (year < 2020) return 0;
  const uint32_t days = ((year - 2020) * 12 + two(5)) * 31 + two(8);
  const uint32_t minutes = days * 1440 + two(11) * 60 + two(14);
  return std::min<uint32_t>(minutes, (1u << kMinuteBits) - 1);
}

}  // namespace

const std::vector<std::string>& SameRunFields() {
  static const auto* const kFields = new std::vector<std::string>{
      "machine_profile", "usable_cpus", "dataset.sha256",
      "pair.side",       "pair.index",  "pair.contest"};
  return *kFields;
}

std::string RunIdentity(const Row& row) {
  static const auto* const kFields =
      new std::vector<Field>(FindSameRunFields());
  if (row.job_id().empty()) return "";
  std::string identity = absl::StrCat(row.run_index(), " ");
  AppendKey(row.job_id(), &identity);
  for (const Field& field : *kFields) {
    AppendKey(ValueText(FieldOf(row, field)), &identity);
  }
  return identity;
}

uint32_t AttemptOrder(int64_t attempt, absl::string_view started_at) {
  const int64_t capped =
      std::max<int64_t>(0, std::min<int64_t>(attempt, kMostAttempts));
  return static_cast<uint32_t>(capped) << kMinuteBits | Minutes(started_at);
}

int AttemptNumber(uint32_t order) {
  return static_cast<int>(order >> kMinuteBits);
}

uint64_t VersionHash(absl::string_view library_version, bool is_ok) {
  if (library_version.empty() && !is_ok) return 0;
  return Fingerprint().Add(library_version).value() | 1;
}

Attempt AttemptOf(const Row& row, size_t id) {
  return {AttemptRank(row),
          AttemptOrder(row.attempt(), row.started_at()),
          row.throughput(),
          VersionHash(row.library_version(), row.status() == "ok"),
          Fingerprint().Add(row.ShortDebugString()).value(),
          id};
}

void ForEachReplaced(
    absl::Span<Attempt> attempts,
    const std::function<void(size_t id, bool is_duplicate)>& replaced) {
  const auto key = [](const Attempt& attempt) {
    return std::make_tuple(attempt.rank, ~attempt.order, attempt.throughput,
                           attempt.version, attempt.content);
  };
  // The attempt that counts comes first.
  std::sort(
      attempts.begin(), attempts.end(),
      [&](const Attempt& a, const Attempt& b) { return key(a) < key(b); });
  // Rank and number of the last attempt seen of each version, and of any
  // version.
  const auto kind = [](const Attempt& attempt) {
    return std::make_pair(attempt.rank, AttemptNumber(attempt.order));
  };
  absl::flat_hash_map<uint64_t, std::pair<int, int>> seen;
  for (size_t i = 0; i < attempts.size(); ++i) {
    const Attempt& attempt = attempts[i];
    // Version 0 matches every version.
    const auto same = seen.find(attempt.version);
    const auto unknown = seen.find(0);
    const bool is_replaced = attempt.version == 0
                                 ? i > 0
                                 : same != seen.end() || unknown != seen.end();
    const bool is_duplicate =
        attempt.version == 0
            ? i > 0 && kind(attempts[i - 1]) == kind(attempt)
            : (same != seen.end() && same->second == kind(attempt)) ||
                  (unknown != seen.end() && unknown->second == kind(attempt));
    if (is_replaced) replaced(attempt.id, is_duplicate);
    seen[attempt.version] = kind(attempt);
  }
}

}  // namespace feedrate
