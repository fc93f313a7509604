#include "docs/generator/pages.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "docs/generator/equivalence_page.h"
#include "docs/generator/schema_page.h"
#include "docs/generator/scope_page.h"
#include "docs/generator/transforms_page.h"
#include "docs/generator/words.h"
#include "google/protobuf/descriptor.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FileDescriptor;

constexpr char kConfigSchemas[] = "lib/config/config_proto.descriptors.bin";
constexpr char kRecordSchemas[] = "lib/records/records_proto.descriptors.bin";
constexpr char kExample[] = "configs/demo.textproto";
// What dev/equivalence.sh measured.
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
    ASSIGN_OR_RETURN(const FileDescriptor* file, FindFile(*pool, kind.schema));
    absl::StrAppend(&text, "## ", kind.title, "\n\n", FileComment(*file),
                    "\n\nFiles: ", kind.files, ". Schema: ", Code(kind.schema),
                    ".\n\n", SchemaSections(*file, 3));
  }
  return text;
}

absl::StatusOr<std::string> RecordsPage() {
  ASSIGN_OR_RETURN(const std::unique_ptr<DescriptorPool> pool,
                   ReadSchemas(kRecordSchemas));
  ASSIGN_OR_RETURN(const FileDescriptor* file,
                   FindFile(*pool, "lib/records/records.proto"));
  return absl::StrCat(kGeneratedNote, "# Records\n\n", FileComment(*file),
                      "\n\n", SchemaSections(*file, 2));
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
