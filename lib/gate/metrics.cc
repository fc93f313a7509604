#include "lib/gate/metrics.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/base/status_macros.h"
#include "lib/stats/quantiles.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status AddObject(simdjson::dom::object object, const std::string& prefix,
                       const std::string& name, Metrics* metrics) {
  for (const auto field : object) {
    const std::string key = absl::StrCat(prefix, std::string(field.key));
    simdjson::dom::object inner;
    double number = 0;
    if (field.value.get(inner) == simdjson::SUCCESS) {
      RETURN_IF_ERROR(AddObject(inner, key + ".", name, metrics));
    } else if (field.value.get(number) == simdjson::SUCCESS) {
      if (!std::isfinite(number)) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": ", key, " is no finite number"));
      }
      (*metrics)[key] = number;
    } else if (field.value.is_null()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": ", key, " is null; it has to be a number"));
    }
  }
  return absl::OkStatus();
}

absl::optional<double> NumberOf(const Message& message,
                                const FieldDescriptor& field) {
  const google::protobuf::Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return r.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(r.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return r.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(r.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.GetDouble(message, &field);
    default:
      return absl::nullopt;
  }
}

void AddMessage(const Message& message, const std::string& prefix,
                std::map<std::string, std::vector<double>>* values) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const google::protobuf::Reflection& r = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    if (field.has_presence() && !r.HasField(message, &field)) continue;
    const std::string name = absl::StrCat(prefix, field.name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddMessage(r.GetMessage(message, &field), name + ".", values);
      continue;
    }
    const absl::optional<double> number = NumberOf(message, field);
    if (number && std::isfinite(*number)) (*values)[name].push_back(*number);
  }
}

}  // namespace

absl::StatusOr<MetricsFile> ParseMetrics(absl::string_view text,
                                         const std::string& name) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const auto error =
      parser.parse(simdjson::padded_string(text.data(), text.size()))
          .get(object);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": is no whole JSON object (", simdjson::error_message(error),
        "); it may be half-written"));
  }
  MetricsFile file;
  std::string_view profile;
  if (object["machine_profile"].get(profile) != simdjson::SUCCESS ||
      profile.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": has no `machine_profile`, so nobody knows what "
                     "it may be compared with"));
  }
  file.machine_profile = std::string(profile);
  RETURN_IF_ERROR(AddObject(object, "", name, &file.metrics));
  if (file.metrics.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has no number in it"));
  }
  return file;
}

Metrics MetricsOfRows(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<double>> values;
  for (const Row& row : rows) {
    if (row.status() == "ok") AddMessage(row, "", &values);
  }
  Metrics metrics;
  for (auto& value : values) {
    metrics[value.first] = SelectQuantile(absl::MakeSpan(value.second), 0.5);
  }
  return metrics;
}

}  // namespace feedrate
