#include "docs/generator/pages.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "docs/generator/markdown.h"
#include "google/protobuf/descriptor.pb.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/draw/text.h"
#include "lib/records/row.pb.h"

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

// What a field means: its comment, else which of the `earlier` messages of the
// page explains it.
std::string MeaningOf(const FieldDescriptor& field,
                      const std::vector<const Descriptor*>& earlier) {
  std::string comment = CommentOf(field);
  for (const Descriptor* message : earlier) {
    if (!comment.empty()) break;
    const FieldDescriptor* same = message->FindFieldByName(field.name());
    if (same != nullptr && !CommentOf(*same).empty()) {
      comment = absl::StrCat("As in ", Link(message->name()), ".");
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

std::string MessageSection(const Descriptor& message, int level,
                           const std::vector<const Descriptor*>& earlier) {
  std::string text = Heading(level, message.name());
  absl::StrAppend(&text, CommentOf(message), "\n\n");
  Table table = TextTable({"field", "type", "meaning"});
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    table.AddRow(
        {Code(field.name()), TypeOf(field), MeaningOf(field, earlier)});
  }
  return absl::StrCat(text, table.ToMarkdown(Table::Cells::kMarkdown), "\n");
}

std::string EnumSection(const EnumDescriptor& type, int level) {
  std::string text = Heading(level, type.name());
  absl::StrAppend(&text, CommentOf(type), "\n\n");
  Table table = TextTable({"value", "meaning"});
  for (int i = 0; i < type.value_count(); ++i) {
    const EnumValueDescriptor& value = *type.value(i);
    table.AddRow({Code(value.name()), CommentOf(value)});
  }
  return absl::StrCat(text, table.ToMarkdown(Table::Cells::kMarkdown), "\n");
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

std::string SchemaSections(const FileDescriptor& file, int level,
                           std::vector<const Descriptor*>& earlier) {
  std::string text;
  for (int i = 0; i < file.message_type_count(); ++i) {
    text += MessageSection(*file.message_type(i), level, earlier);
    earlier.push_back(file.message_type(i));
  }
  for (int i = 0; i < file.enum_type_count(); ++i) {
    text += EnumSection(*file.enum_type(i), level);
  }
  return text;
}

namespace {

using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FileDescriptor;

constexpr char kConfigSchemas[] = "lib/config/config_proto.descriptors.bin";
constexpr char kRecordSchemas[] = "lib/records/records_proto.descriptors.bin";
constexpr char kExample[] = "configs/demo.textproto";
// What dev/studies/equivalence.sh measured.
constexpr char kVerifications[] = "docs/equivalence.jsonl";

// A kind of config: its schema and where its files are.
struct Kind {
  const char* schema;
  const char* title;
  const char* files;
};

constexpr Kind kKinds[] = {
    {"lib/config/run_config.proto", "Runs",
     "configs/paper/, configs/native/, configs/demo.textproto, and yours"},
    {"lib/config/matrix.proto", "Support matrix", "configs/matrix.textproto"},
    {"lib/config/transforms.proto", "Transform sets", "configs/transforms/"},
    {"lib/config/policy.proto", "Policy", "configs/policy.textproto"},
    {"lib/config/quota.proto", "Quotas", "configs/quotas/"},
    {"lib/config/targets.proto", "Targets", "configs/gate/"},
    {"lib/config/tolerances.proto", "Tolerances", "configs/gate/"},
    {"lib/config/coverage.proto", "Coverage profiles",
     "configs/coverage/, and yours"},
};

absl::StatusOr<const FileDescriptor*> FindFile(const DescriptorPool& pool,
                                               const std::string& name) {
  const FileDescriptor* file = pool.FindFileByName(name);
  if (file != nullptr) return file;
  return absl::NotFoundError(absl::StrCat(name, " is not among the schemas"));
}

absl::StatusOr<std::string> ConfigsPage() {
  ASSIGN_OR_RETURN(const std::unique_ptr<DescriptorPool> pool,
                   ReadSchemas(kConfigSchemas));
  ASSIGN_OR_RETURN(const std::string example, ReadFile(kExample));
  std::string text = absl::StrCat(
      kGeneratedNote,
      "# Configs\n\nAll that people type is protobuf text. An unknown field is "
      "an error that names file, line and column. What a field that is left "
      "out means stands with the field.\n\nA whole config, ",
      Code(kExample), ":\n\n```textproto\n", example, "```\n\n");
  for (const Kind& kind : kKinds) {
    std::vector<const Descriptor*> earlier;
    ASSIGN_OR_RETURN(const FileDescriptor* file, FindFile(*pool, kind.schema));
    absl::StrAppend(&text, "## ", kind.title, "\n\n", FileComment(*file),
                    "\n\nFiles: ", kind.files, ". Schema: ", Code(kind.schema),
                    ".\n\n", SchemaSections(*file, 3, earlier));
  }
  return text;
}

absl::StatusOr<std::string> RecordsPage() {
  ASSIGN_OR_RETURN(const std::unique_ptr<DescriptorPool> pool,
                   ReadSchemas(kRecordSchemas));
  std::string text = absl::StrCat(
      kGeneratedNote,
      "# Records\n\nThe records that feedrate's programs pass to each other: "
      "one JSON object per line, with the field names below, in this order. "
      "Each line starts with `\"schema\": 1` and `\"record\": \"<message name "
      "in lower case>\"`.\n\nPlain fields are always printed, even if they are "
      "zero; `optional` fields and sub-messages only if present. Times are in "
      "seconds, sizes in bytes. Adding a field later does not change any "
      "`job_id`.\n\n"
      "Readers ignore fields that they do not know. A torn last line, a line "
      "that is not a record (of a log, for example) and the torn beginning of "
      "a "
      "line that another writer appended to are skipped with a warning. A "
      "record that is refused, because it says something twice, has text where "
      "a number belongs, or is a measured row without a throughput, is named "
      "with file and line: `aggregate` and `report` show the others, say how "
      "many are refused and exit with 1; `check_coverage` counts it as an "
      "error and exits with 3; `compare_baseline` and histories judge nothing "
      "and exit with 1.\n\n");
  std::vector<const Descriptor*> earlier;
  for (const auto& [name, title] :
       std::vector<std::pair<std::string, std::string>>{
           {"env", "The machine"},
           {"job", "Jobs"},
           {"row", "Rows"},
           {"loader", "Loaders and mixtures"},
           {"train", "Models"},
           {"summary", "Summaries"},
           {"verdict", "Verdicts"}}) {
    const std::string schema = absl::StrCat("lib/records/", name, ".proto");
    ASSIGN_OR_RETURN(const FileDescriptor* file, FindFile(*pool, schema));
    absl::StrAppend(&text, "## ", title, "\n\n", FileComment(*file),
                    " Schema: ", Code(schema), ".\n\n",
                    SchemaSections(*file, 3, earlier));
  }
  return text;
}

absl::StatusOr<std::string> MeasuredEquivalencePage(
    const Catalogue& catalogue) {
  ASSIGN_OR_RETURN(const std::vector<Verification> verifications,
                   ReadVerifications(kVerifications));
  return EquivalencePage(catalogue, verifications);
}

// Ends with one line break, however the sections end.
std::string Tidy(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text + "\n";
}

}  // namespace

absl::StatusOr<std::vector<Page>> GeneratePages() {
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load("configs"));
  std::vector<Page> pages;
  ASSIGN_OR_RETURN(std::string records, RecordsPage());
  pages.push_back({"docs/records.md", std::move(records)});
  ASSIGN_OR_RETURN(std::string configs, ConfigsPage());
  pages.push_back({"docs/configs.md", std::move(configs)});
  ASSIGN_OR_RETURN(std::string scope, ScopePage(catalogue));
  pages.push_back({"docs/scope.md", std::move(scope)});
  ASSIGN_OR_RETURN(std::string equivalence, MeasuredEquivalencePage(catalogue));
  pages.push_back({"docs/equivalence.md", std::move(equivalence)});
  for (const Scenario& scenario : catalogue.matrix().scenarios()) {
    if (scenario.transforms().empty()) continue;
    ASSIGN_OR_RETURN(std::string page, TransformsPage(catalogue, scenario));
    pages.push_back(
        {absl::StrCat("docs/transform_sets/", scenario.short_name(), ".md"),
         std::move(page)});
  }
  for (Page& page : pages) page.content = Tidy(std::move(page.content));
  return pages;
}

absl::Status CheckPages(const std::vector<Page>& pages,
                        const std::string& root) {
  for (const Page& page : pages) {
    const absl::StatusOr<std::string> there =
        ReadFile(JoinPath(root, page.path));
    if (there.ok() && *there == page.content) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(page.path, there.ok() ? " is stale" : " is missing",
                     "; run: bazel run //docs:generate"));
  }
  return absl::OkStatus();
}

absl::Status WritePages(const std::vector<Page>& pages,
                        const std::string& root) {
  for (const Page& page : pages) {
    RETURN_IF_ERROR(
        WriteFileAtomically(JoinPath(root, page.path), page.content));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
