#include "lib/records/json_reader.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/base/status_macros.h"
#include "lib/records/json_writer.h"
#include "simdjson.h"

namespace feedrate {
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
      // Records use no other types; a test walks over the schema.
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
  // A key that stands twice: the last one wins, as in most JSON readers.
  message->GetReflection()->ClearField(message, field);
  if (value.is_null()) return absl::OkStatus();
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
      // How the writer prints what JSON has no number for.
      message->GetReflection()->AddDouble(
          message, field, std::numeric_limits<double>::quiet_NaN());
    } else {
      return Mismatch(field, "no null in the list", item);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadObject(const object& json, Message* message) {
  for (const auto& [key, value] : json) {
    const FieldDescriptor* field =
        message->GetDescriptor()->FindFieldByName(std::string(key));
    if (field != nullptr) RETURN_IF_ERROR(ReadField(value, field, message));
  }
  return absl::OkStatus();
}

}  // namespace

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
  if (parser_->json["record"].get(record) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        "no field \"record\" that says what it is");
  }
  int64_t schema;
  if (parser_->json["schema"].get(schema) != simdjson::SUCCESS ||
      schema != kSchemaVersion) {
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
