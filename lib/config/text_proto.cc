#include "lib/config/text_proto.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "lib/base/did_you_mean.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::TextFormat;

// Deeper nesting is an attack or an accident; the schema has four levels.
constexpr int kMaxDepth = 32;

// The part of `text` between the first `open` and the next `close`, or "".
absl::string_view Between(absl::string_view text, absl::string_view open,
                          absl::string_view close) {
  const size_t begin = text.find(open);
  if (begin == absl::string_view::npos) return "";
  text.remove_prefix(begin + open.size());
  return text.substr(0, text.find(close));
}

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
  }
  return names;
}

std::vector<std::string> ValueNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  // The first value stands for "not set" and is never right in a file.
  for (int i = 1; i < type.value_count(); ++i) {
    names.push_back(type.value(i)->name());
  }
  return names;
}

// Says protobuf's own messages in the words of a config's writer.
std::string InOwnWords(absl::string_view message, const Message& root) {
  const auto* pool = root.GetDescriptor()->file()->pool();
  if (absl::StrContains(message, "has no field named")) {
    const std::string type(Between(message, "Message type \"", "\""));
    const std::string field(Between(message, "field named \"", "\""));
    const Descriptor* descriptor = pool->FindMessageTypeByName(type);
    return absl::StrCat(
        "unknown field \"", field, "\"",
        descriptor ? DidYouMean(field, FieldNames(*descriptor)) : "");
  }
  if (absl::StartsWith(message, "Unknown enumeration value")) {
    const std::string value(Between(message, "value of \"", "\""));
    const std::string field(Between(message, "for field \"", "\""));
    std::string hint;
    // The message names the field, not its type: search the file's enums.
    for (int i = 0; i < root.GetDescriptor()->file()->enum_type_count(); ++i) {
      const auto* type = root.GetDescriptor()->file()->enum_type(i);
      hint = DidYouMean(value, ValueNames(*type));
      if (absl::StrContains(hint, "did you mean")) break;
    }
    return absl::StrCat("\"", value, "\" is no value of ", field, hint);
  }
  return std::string(absl::StripSuffix(message, "."));
}

// Keeps the first error: those after it are mostly its consequences.
class FirstError : public ::google::protobuf::io::ErrorCollector {
 public:
  FirstError(const std::string& file, const Message& root)
      : file_(file), root_(root) {}

  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = file_;
    // Protobuf counts from 0, editors from 1; -1 is the file as a whole.
    if (line >= 0) absl::StrAppend(&text_, ":", line + 1, ":", column + 1);
    absl::StrAppend(&text_, ": ", InOwnWords(message, root_));
  }
  void AddWarning(int, int, const std::string&) override {}

  const std::string& text() const { return text_; }

 private:
  const std::string& file_;
  const Message& root_;
  std::string text_;
};

}  // namespace

absl::Status ParseTextProto(absl::string_view text, const std::string& file,
                            Message* message) {
  FirstError error(file, *message);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  if (parser.Parse(&stream, message) && error.text().empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      error.text().empty() ? absl::StrCat(file, ": cannot be parsed")
                           : error.text());
}

absl::Status ReadTextProto(const std::string& path, Message* message) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseTextProto(text, path, message);
}

std::string PrintTextProto(const Message& message) {
  TextFormat::Printer printer;
  // Keeps … and other UTF-8 readable.
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace feedrate
