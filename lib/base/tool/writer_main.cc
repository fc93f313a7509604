#include "lib/base/tool/writer_main.h"

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"

DEFINE_string(folder, "", "FOLDER: where to write; created if missing");

namespace feedrate {
namespace {

ToolInfo ToolInfoOf(const WriterInfo& writer) {
  ToolInfo info;
  info.name = writer.name;
  info.summary = absl::StrCat("write ", writer.what, " to a folder");
  info.usage = "--folder=FOLDER [flags]";
  info.description = writer.description;
  info.examples = {absl::StrCat(
      writer.name, " --folder=", writer.example_folder,
      writer.example_flags.empty() ? "" : " ", writer.example_flags)};
  info.flag_files = {writer.flag_file, "lib/base/tool/writer_main.cc"};
  return info;
}

}  // namespace

int WriterMain(int argc, char** argv, const WriterInfo& info,
               const std::function<absl::Status(const std::string&)>& write) {
  return ToolMain(
      argc, argv, ToolInfoOf(info),
      [&](const std::vector<std::string>&) -> absl::StatusOr<ExitCode> {
        if (FLAGS_folder.empty()) {
          return absl::InvalidArgumentError(
              "--folder is missing; say where to write");
        }
        RETURN_IF_ERROR(write(FLAGS_folder));
        return ExitCode::kDone;
      });
}

}  // namespace feedrate
