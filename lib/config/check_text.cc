#include "lib/config/check_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/places.h"

namespace feedrate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

bool IsText(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = text[0] == '\0' ? 0 : Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

absl::Status CheckFields(const Message& message, const std::string& prefix,
                         const Places& places);

// The only value of a field, or one of a list: `index` is -1 for the former.
absl::Status CheckValue(const Message& message, const FieldDescriptor* field,
                        int index, const std::string& path,
                        const Places& places) {
  const Reflection& reflection = *message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return CheckFields(
        index < 0 ? reflection.GetMessage(message, field)
                  : reflection.GetRepeatedMessage(message, field, index),
        path + ".", places);
  }
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return absl::OkStatus();
  }
  std::string scratch;
  const std::string& text =
      index < 0 ? reflection.GetStringReference(message, field, &scratch)
                : reflection.GetRepeatedStringReference(message, field, index,
                                                        &scratch);
  if (IsText(text)) return absl::OkStatus();
  return places.Error(path, "is no text; write UTF-8, without NUL");
}

absl::Status CheckFields(const Message& message, const std::string& prefix,
                         const Places& places) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (!field->is_repeated()) {
      RETURN_IF_ERROR(CheckValue(message, field, -1, path, places));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      RETURN_IF_ERROR(CheckValue(message, field, i,
                                 absl::StrCat(path, "[", i, "]"), places));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool NeedsCheckText(absl::string_view source) {
  return std::any_of(source.begin(), source.end(), [](unsigned char c) {
    return c == '\\' || c >= 0x80 || c == '\0';
  });
}

absl::Status CheckText(const Message& message, const Places& places) {
  return CheckFields(message, "", places);
}

}  // namespace feedrate
