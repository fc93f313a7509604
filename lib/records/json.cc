#include "lib/records/json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/map_field.h"
#include "lib/base/status_macros.h"
#include "lib/records/repeated_keys.h"
#include "lib/records/worker.pb.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// What all messages of one type have in common.
struct TypePlan {
  struct Field {
    const FieldDescriptor* field;
    std::string key;  // `"name":`
    bool may_be_absent;
  };
  std::vector<Field> fields;
  // Their places in `fields`, by name.
  absl::flat_hash_map<std::string_view, size_t> by_name;
  std::string record_prefix;  // `{"schema":1,"record":"name"`
};

bool MayBeAbsent(const FieldDescriptor* field) {
  return field->options().GetExtension(may_be_absent);
}

bool IsList(const Descriptor* type) {
  return type->field_count() == 1 && type->field(0)->is_repeated() &&
         type->field(0)->name() == "list";
}

const TypePlan& PlanFor(const Descriptor* type) {
  // A cache per thread needs no lock; there are about a dozen types.
  thread_local std::unordered_map<const Descriptor*, std::unique_ptr<TypePlan>>
      plans;
  std::unique_ptr<TypePlan>& plan = plans[type];
  if (plan != nullptr) return *plan;
  plan = std::make_unique<TypePlan>();
  plan->record_prefix = absl::StrCat("{\"schema\":", kSchemaVersion,
                                     ",\"record\":\"", RecordName(*type), "\"");
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    plan->fields.push_back(
        {field, absl::StrCat("\"", field->name(), "\":"), MayBeAbsent(field)});
    plan->by_name.emplace(field->name(), static_cast<size_t>(i));
  }
  return *plan;
}

void AppendFields(const Message& message, bool first, std::string* out);
void AppendList(const Message& message, const Reflection& reflection,
                const FieldDescriptor* field, std::string* out);

void AppendObject(const Message& message, std::string* out) {
  if (IsList(message.GetDescriptor())) {
    return AppendList(message, *message.GetReflection(),
                      message.GetDescriptor()->field(0), out);
  }
  out->push_back('{');
  AppendFields(message, /*first=*/true, out);
  out->push_back('}');
}

template <typename Int>
void AppendInt(Int value, std::string* out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  out->append(buffer, end);
}

// The value of a field that is not repeated.
void AppendSingular(const Message& message, const Reflection& reflection,
                    const FieldDescriptor* field, std::string* out) {
  std::string scratch;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return AppendInt(reflection.GetInt32(message, field), out);
    case FieldDescriptor::CPPTYPE_INT64:
      return AppendInt(reflection.GetInt64(message, field), out);
    case FieldDescriptor::CPPTYPE_UINT32:
      return AppendInt(reflection.GetUInt32(message, field), out);
    case FieldDescriptor::CPPTYPE_UINT64:
      return AppendInt(reflection.GetUInt64(message, field), out);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return AppendJsonDouble(reflection.GetDouble(message, field), out);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return AppendJsonDouble(reflection.GetFloat(message, field), out);
    case FieldDescriptor::CPPTYPE_BOOL:
      out->append(reflection.GetBool(message, field) ? "true" : "false");
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      return AppendJsonString(reflection.GetEnum(message, field)->name(), out);
    case FieldDescriptor::CPPTYPE_STRING:
      return AppendJsonString(
          reflection.GetStringReference(message, field, &scratch), out);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AppendObject(reflection.GetMessage(message, field), out);
  }
}

void AppendElement(const Message& message, const Reflection& reflection,
                   const FieldDescriptor* field, int i, std::string* out) {
  std::string scratch;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return AppendInt(reflection.GetRepeatedInt32(message, field, i), out);
    case FieldDescriptor::CPPTYPE_INT64:
      return AppendInt(reflection.GetRepeatedInt64(message, field, i), out);
    case FieldDescriptor::CPPTYPE_UINT32:
      return AppendInt(reflection.GetRepeatedUInt32(message, field, i), out);
    case FieldDescriptor::CPPTYPE_UINT64:
      return AppendInt(reflection.GetRepeatedUInt64(message, field, i), out);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return AppendJsonDouble(reflection.GetRepeatedDouble(message, field, i),
                              out);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return AppendJsonDouble(reflection.GetRepeatedFloat(message, field, i),
                              out);
    case FieldDescriptor::CPPTYPE_BOOL:
      out->append(reflection.GetRepeatedBool(message, field, i) ? "true"
                                                                : "false");
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      return AppendJsonString(
          reflection.GetRepeatedEnum(message, field, i)->name(), out);
    case FieldDescriptor::CPPTYPE_STRING:
      return AppendJsonString(
          reflection.GetRepeatedStringReference(message, field, i, &scratch),
          out);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AppendObject(reflection.GetRepeatedMessage(message, field, i),
                          out);
  }
}

void AppendList(const Message& message, const Reflection& reflection,
                const FieldDescriptor* field, std::string* out) {
  out->push_back('[');
  const int size = reflection.FieldSize(message, field);
  for (int i = 0; i < size; ++i) {
    if (i > 0) out->push_back(',');
    AppendElement(message, reflection, field, i, out);
  }
  out->push_back(']');
}

// Sorts the keys, because protobuf's order of maps changes between runs.
void AppendMap(const Message& message, const Reflection& reflection,
               const FieldDescriptor* field, std::string* out) {
  const FieldDescriptor* key_field = field->message_type()->map_key();
  const FieldDescriptor* value_field = field->message_type()->map_value();
  std::vector<std::pair<std::string, const Message*>> entries;
  const int size = reflection.FieldSize(message, field);
  for (int i = 0; i < size; ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, field, i);
    entries.emplace_back(entry.GetReflection()->GetString(entry, key_field),
                         &entry);
  }
  std::sort(entries.begin(), entries.end());
  out->push_back('{');
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendJsonString(entries[i].first, out);
    out->push_back(':');
    const Message& entry = *entries[i].second;
    AppendSingular(entry, *entry.GetReflection(), value_field, out);
  }
  out->push_back('}');
}

void AppendFields(const Message& message, bool first, std::string* out) {
  const Reflection& reflection = *message.GetReflection();
  for (const TypePlan::Field& planned :
       PlanFor(message.GetDescriptor()).fields) {
    const FieldDescriptor* field = planned.field;
    if (field->has_presence() && !reflection.HasField(message, field)) continue;
    if (planned.may_be_absent && reflection.FieldSize(message, field) == 0) {
      continue;
    }
    if (!first) out->push_back(',');
    first = false;
    out->append(planned.key);
    if (field->is_map()) {
      AppendMap(message, reflection, field, out);
    } else if (field->is_repeated()) {
      AppendList(message, reflection, field, out);
    } else {
      AppendSingular(message, reflection, field, out);
    }
  }
}

}  // namespace

std::string RecordName(const Descriptor& type) {
  std::string name;
  for (char c : type.name()) {
    if (absl::ascii_isupper(c) && !name.empty()) name.push_back('_');
    name.push_back(absl::ascii_tolower(c));
  }
  return name;
}

void AppendRecord(const Message& message, std::string* out) {
  out->append(PlanFor(message.GetDescriptor()).record_prefix);
  AppendFields(message, /*first=*/false, out);
  out->append("}\n");
}

void AppendJson(const Message& message, std::string* out) {
  AppendObject(message, out);
}

namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::simdjson::dom::element;
using ::simdjson::dom::element_type;
using ::simdjson::dom::object;

absl::string_view TypeName(const element& value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
      return "a whole number";
    case element_type::DOUBLE:
      return "a number";
    case element_type::STRING:
      return "text";
    case element_type::BOOL:
      return "true or false";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

absl::Status Mismatch(const FieldDescriptor* field, absl::string_view wanted,
                      const element& value) {
  return absl::InvalidArgumentError(absl::StrCat("field \"", field->name(),
                                                 "\": expected ", wanted,
                                                 ", found ", TypeName(value)));
}

absl::Status Repeated(std::string_view key) {
  return absl::InvalidArgumentError(
      absl::StrCat("field \"", absl::string_view(key.data(), key.size()),
                   "\" is there twice; which one counts?"));
}

// The fields of a message that are read so far.
class SeenFields {
 public:
  explicit SeenFields(const TypePlan& plan)
      : plan_(plan), seen_(plan.fields.size()) {}

  // The field called `key`; null if there is none. `is_repeated` says whether
  // it was asked for before.
  const FieldDescriptor* Find(std::string_view key, bool* is_repeated) {
    // Writers keep the order of the schema, so it is often the next one.
    if (next_ >= plan_.fields.size() ||
        plan_.fields[next_].field->name() != key) {
      const auto found = plan_.by_name.find(key);
      if (found == plan_.by_name.end()) return nullptr;
      next_ = found->second;
    }
    *is_repeated = seen_[next_];
    seen_[next_] = true;
    return plan_.fields[next_++].field;
  }

 private:
  const TypePlan& plan_;
  absl::InlinedVector<bool, 128> seen_;
  size_t next_ = 0;
};

absl::Status ReadObject(const object& json, Message* message);

template <typename Int>
absl::StatusOr<Int> AsInt(const FieldDescriptor* field, const element& value) {
  int64_t number;
  if (value.is<uint64_t>() && !value.is<int64_t>()) {
    return absl::InvalidArgumentError(
        absl::StrCat("field \"", field->name(),
                     "\": ", value.get_uint64().value(), " is out of range"));
  }
  if (value.get(number) != simdjson::SUCCESS) {
    return Mismatch(field, "a whole number", value);
  }
  if (number < std::numeric_limits<Int>::min() ||
      number > std::numeric_limits<Int>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "field \"", field->name(), "\": ", number, " is out of range"));
  }
  return static_cast<Int>(number);
}

// Sets a field, or appends to it when it is repeated. `value` is not null.
absl::Status ReadValue(const element& value, const FieldDescriptor* field,
                       Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const bool repeated = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      ASSIGN_OR_RETURN(const int32_t number, AsInt<int32_t>(field, value));
      repeated ? reflection.AddInt32(message, field, number)
               : reflection.SetInt32(message, field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      ASSIGN_OR_RETURN(const int64_t number, AsInt<int64_t>(field, value));
      repeated ? reflection.AddInt64(message, field, number)
               : reflection.SetInt64(message, field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number;
      if (value.get(number) != simdjson::SUCCESS) {
        return Mismatch(field, "a whole number of at least 0", value);
      }
      repeated ? reflection.AddUInt64(message, field, number)
               : reflection.SetUInt64(message, field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double number;
      if (value.get(number) != simdjson::SUCCESS) {
        return Mismatch(field, "a number", value);
      }
      repeated ? reflection.AddDouble(message, field, number)
               : reflection.SetDouble(message, field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool truth;
      if (value.get(truth) != simdjson::SUCCESS) {
        return Mismatch(field, "true or false", value);
      }
      repeated ? reflection.AddBool(message, field, truth)
               : reflection.SetBool(message, field, truth);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string_view text;
      if (value.get(text) != simdjson::SUCCESS) {
        return Mismatch(field, "text", value);
      }
      repeated ? reflection.AddString(message, field, std::string(text))
               : reflection.SetString(message, field, std::string(text));
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      object json;
      if (value.get(json) != simdjson::SUCCESS) {
        return Mismatch(field, "an object", value);
      }
      return ReadObject(json, repeated
                                  ? reflection.AddMessage(message, field)
                                  : reflection.MutableMessage(message, field));
    }
    default:
      // Records use no other types; a test checks the whole schema.
      return absl::InternalError(
          absl::StrCat("field \"", field->name(), "\": type not supported"));
  }
}

absl::Status ReadMap(const element& value, const FieldDescriptor* field,
                     Message* message) {
  object json;
  if (value.get(json) != simdjson::SUCCESS) {
    return Mismatch(field, "an object", value);
  }
  std::string_view repeated;
  if (HasRepeatedKey(json, &repeated)) return Repeated(repeated);
  for (const auto& [key, item] : json) {
    if (item.is_null()) continue;
    Message* entry = message->GetReflection()->AddMessage(message, field);
    entry->GetReflection()->SetString(entry, field->message_type()->map_key(),
                                      std::string(key));
    RETURN_IF_ERROR(ReadValue(item, field->message_type()->map_value(), entry));
  }
  return absl::OkStatus();
}

absl::Status ReadField(const element& value, const FieldDescriptor* field,
                       Message* message) {
  if (value.is_null()) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE &&
        !field->is_repeated() && !field->has_presence()) {
      message->GetReflection()->SetDouble(
          message, field, std::numeric_limits<double>::quiet_NaN());
    }
    return absl::OkStatus();
  }
  if (field->is_map()) return ReadMap(value, field, message);
  if (!field->is_repeated()) return ReadValue(value, field, message);
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    return Mismatch(field, "a list", value);
  }
  for (const element& item : list) {
    if (!item.is_null()) {
      RETURN_IF_ERROR(ReadValue(item, field, message));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      // The writer prints `null` for values that JSON has no number for.
      message->GetReflection()->AddDouble(
          message, field, std::numeric_limits<double>::quiet_NaN());
    } else {
      return Mismatch(field, "no null in the list", item);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadObject(const object& json, Message* message) {
  SeenFields seen(PlanFor(message->GetDescriptor()));
  for (const auto& [key, value] : json) {
    bool is_repeated = false;
    const FieldDescriptor* const field = seen.Find(key, &is_repeated);
    if (is_repeated) return Repeated(key);
    if (field != nullptr) RETURN_IF_ERROR(ReadField(value, field, message));
  }
  return absl::OkStatus();
}

bool IsNegative(const element& value) {
  double number = 0;
  return value.is_number() && value.get(number) == simdjson::SUCCESS &&
         number < 0;
}

std::string ReadUntrustedItems(const element& value,
                               const FieldDescriptor* field, Message* message);

// Reads one value, or one item of a list. Returns the name of what is wrong.
std::string ReadUntrustedValue(const element& value,
                               const FieldDescriptor* field, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    const bool in_range =
        !IsNegative(value) || field->options().GetExtension(may_be_negative);
    const bool usable = in_range && ReadValue(value, field, message).ok();
    return usable ? "" : field->name();
  }
  Message* const part = field->is_repeated()
                            ? reflection.AddMessage(message, field)
                            : reflection.MutableMessage(message, field);
  if (IsList(part->GetDescriptor())) {
    const FieldDescriptor* const list = part->GetDescriptor()->field(0);
    return ReadUntrustedItems(value, list, part).empty() ? "" : field->name();
  }
  object json;
  if (value.get(json) != simdjson::SUCCESS) return field->name();
  return ReadUntrusted(json, part);
}

std::string ReadUntrustedItems(const element& value,
                               const FieldDescriptor* field, Message* message) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return field->name();
  for (const element& item : list) {
    std::string wrong = ReadUntrustedValue(item, field, message);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

std::string ReadUntrusted(const object& json, Message* message) {
  SeenFields seen(PlanFor(message->GetDescriptor()));
  for (const auto& [key, value] : json) {
    bool is_repeated = false;
    seen.Find(key, &is_repeated);
    if (is_repeated) return std::string(key);
  }
  for (const TypePlan::Field& planned :
       PlanFor(message->GetDescriptor()).fields) {
    const FieldDescriptor* const field = planned.field;
    element value;
    if (json[field->name()].get(value) != simdjson::SUCCESS) {
      if (planned.may_be_absent || field->has_presence()) continue;
      return field->name();
    }
    std::string wrong;
    if (field->is_map()) {
      if (!ReadMap(value, field, message).ok()) wrong = field->name();
    } else {
      wrong = field->is_repeated() ? ReadUntrustedItems(value, field, message)
                                   : ReadUntrustedValue(value, field, message);
    }
    if (!wrong.empty()) return wrong;
  }
  return "";
}

struct JsonReader::Parser {
  simdjson::dom::parser parser;
  std::string padded;
  object json;
};

JsonReader::JsonReader() : parser_(std::make_unique<Parser>()) {}
JsonReader::~JsonReader() = default;

absl::StatusOr<std::string> JsonReader::Open(absl::string_view line) {
  // simdjson reads a few bytes past the end.
  parser_->padded.reserve(line.size() + simdjson::SIMDJSON_PADDING);
  parser_->padded.assign(line.data(), line.size());
  const auto parsed = parser_->parser.parse(parser_->padded.data(), line.size(),
                                            /*realloc_if_needed=*/false);
  if (parsed.error() != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON: ", simdjson::error_message(parsed.error())));
  }
  if (parsed.get(parser_->json) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError("not a JSON object");
  }
  std::string_view record;
  int64_t schema = 0;
  int records = 0;
  int schemas = 0;
  for (const auto& [key, value] : parser_->json) {
    if (key == "record") {
      if (++records > 1) return Repeated(key);
      if (value.get(record) != simdjson::SUCCESS) break;
    } else if (key == "schema") {
      if (++schemas > 1) return Repeated(key);
      if (value.get(schema) != simdjson::SUCCESS) schema = 0;
    }
  }
  if (record.data() == nullptr) {
    return absl::InvalidArgumentError(
        "no field \"record\" that says what it is");
  }
  if (schema != kSchemaVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("field \"schema\" is not ", kSchemaVersion,
                     ", the version that this program reads"));
  }
  return std::string(record);
}

absl::Status JsonReader::Read(Message* message) {
  message->Clear();
  return ReadObject(parser_->json, message);
}

}  // namespace feedrate
