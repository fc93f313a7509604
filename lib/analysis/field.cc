#include "lib/analysis/field.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/analysis/value.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

const FieldDescriptor* FindIn(const Descriptor* type, absl::string_view name) {
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

// Text and small integers, but for those that are another in every row.
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

absl::StatusOr<Field> InPart(Field field, const FieldDescriptor* outer,
                             absl::string_view rest) {
  if (rest.empty()) return Unknown(field.name);
  if (IsTextList(outer)) {
    field.item = std::string(rest);
    field.type = FieldType::kTruth;
    field.categorical = true;
    return field;
  }
  if (outer->is_map()) {
    field.sub_key = std::string(rest);
    field.type = FieldType::kSetting;
    field.categorical = true;
    field.has_presence = true;
    return field;
  }
  const FieldDescriptor* inner =
      outer->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
          ? FindIn(outer->message_type(), rest)
          : nullptr;
  if (inner == nullptr) return Unknown(field.name);
  field.sub_key = inner->name();
  field.type = TypeOf(inner);
  field.categorical = IsCategorical(inner);
  field.has_presence = true;
  return field;
}

absl::StatusOr<Field> Whole(Field field, const FieldDescriptor* found) {
  if (found->is_map() ||
      found->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const std::string example =
        found->is_map() ? "prefetch" : found->message_type()->field(0)->name();
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
  return field;
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names = {"cold", "exploratory", "dataset"};
  const Descriptor* row = Row::descriptor();
  for (int i = 0; i < row->field_count(); ++i) {
    const FieldDescriptor* field = row->field(i);
    if (field->is_map() || (field->is_repeated() && !IsTextList(field))) {
      continue;
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      names.push_back(field->name());
      continue;
    }
    for (int j = 0; j < field->message_type()->field_count(); ++j) {
      names.push_back(absl::StrCat(field->name(), ".",
                                   field->message_type()->field(j)->name()));
    }
  }
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
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberValue(reflection.GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return TruthValue(reflection.GetBool(message, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return TextValue(reflection.GetString(message, field));
    default:
      return Value();
  }
}

Value Has(const Value& list, const std::string& item) {
  return TruthValue(std::find(list.list.begin(), list.list.end(), item) !=
                    list.list.end());
}

// What a plain field means that is not there.
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
  const Reflection& reflection = *row.GetReflection();
  if (IsTextList(outer)) {
    Value list;
    list.kind = Value::Kind::kList;
    for (int i = 0; i < reflection.FieldSize(row, outer); ++i) {
      list.list.push_back(reflection.GetRepeatedString(row, outer, i));
    }
    return field.item.empty() ? list : Has(list, field.item);
  }
  if (outer->is_map()) {
    const auto found = row.settings().find(field.sub_key);
    return found == row.settings().end() ? Value() : TextValue(found->second);
  }
  if (field.sub_key.empty()) return Singular(row, outer);
  if (!reflection.HasField(row, outer)) return Value();
  const Message& part = reflection.GetMessage(row, outer);
  return Singular(part, FindIn(part.GetDescriptor(), field.sub_key));
}

absl::StatusOr<Value> FieldFromJson(absl::string_view json,
                                    const Field& field) {
  ASSIGN_OR_RETURN(Value value, ParseValue(json));
  const auto is = [&](Value::Kind kind) { return value.kind == kind; };
  if (is(Value::Kind::kAbsent)) return DefaultOf(field);
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

}  // namespace feedrate
