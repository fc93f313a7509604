#include "docs/generator/schema_page.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "docs/generator/words.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::FileDescriptorProto;
using ::google::protobuf::FileDescriptorSet;
using ::google::protobuf::SourceLocation;

// Lines of a comment joined to paragraphs, an empty line between two.
std::string Paragraphs(absl::string_view comment) {
  std::vector<std::string> paragraphs(1);
  for (absl::string_view line : absl::StrSplit(comment, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) {
      if (!paragraphs.back().empty()) paragraphs.emplace_back();
      continue;
    }
    absl::StrAppend(&paragraphs.back(), paragraphs.back().empty() ? "" : " ",
                    line);
  }
  if (paragraphs.back().empty()) paragraphs.pop_back();
  return absl::StrJoin(paragraphs, "\n\n");
}

template <typename Described>
std::string CommentOf(const Described& described) {
  SourceLocation location;
  if (!described.GetSourceLocation(&location)) return "";
  return Paragraphs(location.leading_comments);
}

std::string Link(absl::string_view name) {
  return absl::StrCat("[", name, "](#", absl::AsciiStrToLower(name), ")");
}

std::string TypeOf(const FieldDescriptor& field) {
  if (field.is_map()) {
    const Descriptor& entry = *field.message_type();
    return absl::StrCat("map of ", TypeOf(*entry.map_key()), " to ",
                        TypeOf(*entry.map_value()));
  }
  std::string type = field.type_name();
  if (field.message_type() != nullptr) {
    type = Link(field.message_type()->name());
  }
  if (field.enum_type() != nullptr) type = Link(field.enum_type()->name());
  return field.is_repeated() ? absl::StrCat("list of ", type) : type;
}

// What a field means: its comment, else where it is explained.
std::string MeaningOf(const FieldDescriptor& field) {
  std::string comment = CommentOf(field);
  const Descriptor& message = *field.containing_type();
  for (int i = 0; comment.empty() && i < message.index(); ++i) {
    const Descriptor& earlier = *message.file()->message_type(i);
    const FieldDescriptor* same = earlier.FindFieldByName(field.name());
    if (same != nullptr && !CommentOf(*same).empty()) {
      comment = absl::StrCat("As in ", Link(earlier.name()), ".");
    }
  }
  // A field that holds a message and says nothing is what the message is.
  if (comment.empty() && field.message_type() != nullptr) {
    comment = CommentOf(*field.message_type());
  }
  return comment;
}

std::string Heading(int level, absl::string_view name) {
  return absl::StrCat(std::string(level, '#'), " ", name, "\n\n");
}

std::string MessageSection(const Descriptor& message, int level) {
  std::string text = Heading(level, message.name());
  absl::StrAppend(&text, CommentOf(message), "\n\n");
  Table table = TextTable({"field", "type", "meaning"});
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    table.AddRow({Code(field.name()), TypeOf(field), MeaningOf(field)});
  }
  return absl::StrCat(text, table.ToMarkdown(), "\n");
}

std::string EnumSection(const EnumDescriptor& type, int level) {
  std::string text = Heading(level, type.name());
  absl::StrAppend(&text, CommentOf(type), "\n\n");
  Table table = TextTable({"value", "meaning"});
  for (int i = 0; i < type.value_count(); ++i) {
    const EnumValueDescriptor& value = *type.value(i);
    table.AddRow({Code(value.name()), CommentOf(value)});
  }
  return absl::StrCat(text, table.ToMarkdown(), "\n");
}

}  // namespace

absl::StatusOr<std::unique_ptr<DescriptorPool>> ReadSchemas(
    const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  FileDescriptorSet set;
  if (!set.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a set of compiled schemas"));
  }
  auto pool = std::make_unique<DescriptorPool>();
  for (const FileDescriptorProto& file : set.file()) {
    if (pool->BuildFile(file) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", file.name(), " does not build"));
    }
  }
  return pool;
}

std::string FileComment(const FileDescriptor& file) {
  SourceLocation location;
  // The comment stands above the `syntax` line, whatever the field's number.
  if (!file.GetSourceLocation({FileDescriptorProto::kSyntaxFieldNumber},
                              &location)) {
    return "";
  }
  return Paragraphs(location.leading_comments);
}

std::string SchemaSections(const FileDescriptor& file, int level) {
  std::string text;
  for (int i = 0; i < file.message_type_count(); ++i) {
    text += MessageSection(*file.message_type(i), level);
  }
  for (int i = 0; i < file.enum_type_count(); ++i) {
    text += EnumSection(*file.enum_type(i), level);
  }
  return text;
}

}  // namespace feedrate
