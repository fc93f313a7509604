// Writes the generated pages under docs/ from the schemas and the catalogue.
//
//   bazel run //docs:generate              # into the source tree
//   bazel run //docs:generate -- --check   # exit 3 when a page is stale
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "docs/generator/pages.h"
#include "gflags/gflags.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"

DEFINE_bool(check, false, "change nothing; exit 3 when a page is stale");

namespace feedrate {
namespace {

// Bazel names the source tree to what it runs; elsewhere it is here.
std::string Root() {
  const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  return root != nullptr ? root : ".";
}

absl::StatusOr<ExitCode> Run(const std::vector<std::string>&) {
  ASSIGN_OR_RETURN(const std::vector<Page> pages, GeneratePages());
  if (!FLAGS_check) {
    RETURN_IF_ERROR(WritePages(pages, Root()));
    return ExitCode::kDone;
  }
  const absl::Status current = CheckPages(pages, Root());
  if (current.ok()) return ExitCode::kDone;
  std::cerr << current.message() << "\n";
  return ExitCode::kCheckSaidNo;
}

ToolInfo Info() {
  ToolInfo info;
  info.name = "generate";
  info.summary = "Writes the generated pages under docs/";
  info.usage = "[--check]";
  info.description =
      "Reads the compiled schemas and configs/, writes docs/records.md,\n"
      "docs/configs.md, docs/scope.md and docs/transform_sets/; and, from\n"
      "docs/equivalence.jsonl, docs/equivalence.md.";
  info.examples = {"bazel run //docs:generate"};
  info.flag_files = {"docs/generator/generate.cc"};
  return info;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(), feedrate::Run);
}
