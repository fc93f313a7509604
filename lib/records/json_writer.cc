#include "lib/records/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/map_field.h"
#include "google/protobuf/message.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// What does not change from one message of a type to the next.
struct TypePlan {
  struct Field {
    const FieldDescriptor* field;
    std::string key;  // `"name":`
  };
  std::vector<Field> fields;
  std::string record_prefix;  // `{"schema":1,"record":"name"`
};

const TypePlan& PlanFor(const Descriptor* type) {
  // A thread's own cache needs no lock; there are a dozen types.
  thread_local std::unordered_map<const Descriptor*, std::unique_ptr<TypePlan>>
      plans;
  std::unique_ptr<TypePlan>& plan = plans[type];
  if (plan != nullptr) return *plan;
  plan = std::make_unique<TypePlan>();
  plan->record_prefix = absl::StrCat("{\"schema\":", kSchemaVersion,
                                     ",\"record\":\"", RecordName(*type), "\"");
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    plan->fields.push_back({field, absl::StrCat("\"", field->name(), "\":")});
  }
  return *plan;
}

void AppendFields(const Message& message, bool first, std::string* out);

void AppendObject(const Message& message, std::string* out) {
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

// Keys sorted: protobuf keeps maps in an order that changes between runs.
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

// Characters that a JSON string cannot hold as they are.
bool NeedsEscape(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }

void AppendEscaped(unsigned char c, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out->append("\\\"");
      return;
    case '\\':
      out->append("\\\\");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      out->append("\\u00");
      out->push_back(kHex[c >> 4]);
      out->push_back(kHex[c & 15]);
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

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = text[i];
    const size_t length = c < 0x80 ? 1 : Utf8Length(text.substr(i));
    if (length > 0 && !NeedsEscape(c)) {
      i += length;
      continue;
    }
    out->append(text.data() + start, i - start);
    if (length == 0) {
      out->append("\xEF\xBF\xBD");
    } else {
      AppendEscaped(c, out);
    }
    start = ++i;
  }
  out->append(text.data() + start, text.size() - start);
  out->push_back('"');
}

void AppendJsonDouble(double value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  if (value == 0 && std::signbit(value)) {
    // "-0" is a whole number to readers, which know no negative zero.
    out->append("-0.0");
    return;
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  out->append(buffer, end);
}

}  // namespace feedrate
