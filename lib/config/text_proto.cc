#include "lib/config/text_proto.h"

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"

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
  return places.Error(path, "is not text; write UTF-8, without NUL");
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

namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::TextFormat;

// Deeper nesting is an attack or an accident; the schema has four levels.
constexpr int kMaxDepth = 32;
// Protobuf's streams count in int.
constexpr size_t kMaxBytes = size_t{1} << 30;

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

// A complaint in the words of a config's writer, and the word it is about.
struct Complaint {
  std::string text;
  std::string word;
};

Complaint UnknownField(absl::string_view message, const Message& root) {
  const std::string type(Between(message, "Message type \"", "\""));
  const std::string field(Between(message, "field named \"", "\""));
  const Descriptor* descriptor =
      root.GetDescriptor()->file()->pool()->FindMessageTypeByName(type);
  return {absl::StrCat(
              "unknown field \"", field, "\"",
              descriptor ? DidYouMean(field, FieldNames(*descriptor)) : ""),
          field};
}

Complaint UnknownEnumValue(absl::string_view message, const Message& root) {
  const std::string value(Between(message, "value of \"", "\""));
  const std::string field(Between(message, "for field \"", "\""));
  std::string hint;
  // The message names the field, not its type: search the file's enums.
  for (int i = 0; i < root.GetDescriptor()->file()->enum_type_count(); ++i) {
    hint = DidYouMean(value,
                      ValueNames(*root.GetDescriptor()->file()->enum_type(i)));
    if (absl::StrContains(hint, "did you mean")) break;
  }
  return {absl::StrCat("\"", value, "\" is not a value of ", field, hint),
          value};
}

// What stands where the name of a field should.
Complaint NoField(absl::string_view found) {
  if (found.empty()) return {"the file ends where a } is missing", ""};
  return {absl::StrCat("expected the name of a field, found ", found), ""};
}

Complaint InOwnWords(absl::string_view message, const Message& root) {
  if (absl::StrContains(message, "has no field named")) {
    return UnknownField(message, root);
  }
  if (absl::StartsWith(message, "Unknown enumeration value")) {
    return UnknownEnumValue(message, root);
  }
  if (absl::ConsumePrefix(&message, "Expected identifier, got: ")) {
    return NoField(message);
  }
  if (absl::StartsWith(message, "Interpreting non ascii codepoint")) {
    return {"a character beyond ASCII outside of quotes", ""};
  }
  const std::string field(Between(message, "field \"", "\""));
  if (absl::StartsWith(message, "Invalid value for boolean field")) {
    const std::string value(Between(message, "Value: \"", "\""));
    return {absl::StrCat("\"", value, "\" is not a value of ", field,
                         "; use true or false"),
            value};
  }
  if (absl::StartsWith(message, "Non-repeated field")) {
    return {absl::StrCat("\"", field, "\" is there twice; keep one"), field};
  }
  return {std::string(absl::StripSuffix(message, ".")), ""};
}

// Protobuf reports a bad word when it has read past it, maybe on a later line.
// Returns where `word` starts, or `place` when it is not before it.
TextPlace StartOfWord(absl::string_view text, TextPlace place,
                      absl::string_view word) {
  size_t line_start = 0;
  for (int line = 0; line < place.line; ++line) {
    line_start = text.find('\n', line_start) + 1;
  }
  text = text.substr(0, line_start + place.column);
  const size_t start = word.empty() ? text.npos : text.rfind(word);
  if (start == text.npos) return place;
  const absl::string_view before = text.substr(0, start);
  const size_t line_break = before.rfind('\n');
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          static_cast<int>(line_break == text.npos ? start
                                                   : start - line_break - 1)};
}

// Keeps the first error: those after it are mostly its consequences.
class FirstError : public ::google::protobuf::io::ErrorCollector {
 public:
  FirstError(absl::string_view text, const std::string& file,
             const Message& root)
      : text_(text), file_(file), root_(root) {}

  void AddError(int line, int column, const std::string& message) override {
    if (!error_.empty()) return;
    const Complaint complaint = InOwnWords(message, root_);
    error_ = file_;
    // Protobuf counts from 0, editors from 1; -1 is the file as a whole.
    if (line >= 0) {
      const TextPlace place =
          StartOfWord(text_, {line, column}, complaint.word);
      absl::StrAppend(&error_, ":", place.line + 1, ":", place.column + 1);
    }
    absl::StrAppend(&error_, ": ", complaint.text);
  }
  void AddWarning(int, int, const std::string&) override {}

  const std::string& error() const { return error_; }

 private:
  const absl::string_view text_;
  const std::string& file_;
  const Message& root_;
  std::string error_;
};

}  // namespace

absl::Status ParseTextProto(absl::string_view text, const std::string& file,
                            Message* message, Places* places) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": larger than ", kMaxBytes, " bytes"));
  }
  FirstError errors(text, file, *message);
  TextFormat::Parser parser;
  TextFormat::ParseInfoTree tree;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxDepth);
  const bool needs_check = NeedsCheckText(text);
  if (places != nullptr || needs_check) parser.WriteLocationsTo(&tree);
  google::protobuf::io::ArrayInputStream stream(text.data(),
                                                static_cast<int>(text.size()));
  if (!parser.Parse(&stream, message) || !errors.error().empty()) {
    return absl::InvalidArgumentError(
        errors.error().empty() ? absl::StrCat(file, ": cannot be parsed")
                               : errors.error());
  }
  if (needs_check) {
    Places parsed(file);
    parsed.AddParsed(*message, tree, text);
    RETURN_IF_ERROR(CheckText(*message, parsed));
  }
  if (places != nullptr) places->AddParsed(*message, tree, text);
  return absl::OkStatus();
}

absl::Status ReadTextProto(const std::string& path, Message* message,
                           Places* places) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseTextProto(text, path, message, places);
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
