#include "lib/base/tool_main.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "glog/logging.h"
#include "lib/base/completion.h"
#include "lib/base/exit_code.h"
#include "lib/base/flag_parser.h"
#include "lib/base/help_text.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool_info.h"

DEFINE_string(completion, "", "SHELL: a completion script {bash|zsh|fish}");

DECLARE_bool(help);
DECLARE_bool(helpfull);
DECLARE_bool(version);

namespace feedrate {
namespace {

// -h is what fingers type; gflags has no short names.
std::vector<std::string> Arguments(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  for (std::string& arg : args) {
    if (arg == "--") break;
    if (arg == "-h") arg = "--help";
  }
  return args;
}

absl::StatusOr<ExitCode> Run(const std::vector<std::string>& args,
                             const ToolInfo& info, const ToolBody& body) {
  ASSIGN_OR_RETURN(const std::vector<std::string> rest, ParseFlags(args));
  if (FLAGS_help || FLAGS_helpfull) {
    std::cout << HelpText(info, FLAGS_helpfull);
    return ExitCode::kDone;
  }
  if (FLAGS_version) {
    std::cout << info.name << " " << kVersion << "\n";
    return ExitCode::kDone;
  }
  if (!FLAGS_completion.empty()) {
    ASSIGN_OR_RETURN(const std::string script,
                     CompletionScript(info, FLAGS_completion));
    std::cout << script;
    return ExitCode::kDone;
  }
  if (!rest.empty() && !info.takes_arguments) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unexpected argument \"", rest[0], "\"; flags start with --"));
  }
  return body(rest);
}

// What came from a file may hold line breaks or sequences that a terminal
// obeys. They are printed as in C++.
std::string OneLine(absl::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (absl::ascii_iscntrl(c)) {
      absl::StrAppend(&line, "\\x", absl::Hex(c, absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  return line;
}

// A full disk behind `> file` shows only when the buffers are emptied.
absl::Status FlushOutput() {
  std::cout.flush();
  if (std::cout.good() && std::fflush(stdout) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot write to standard output: ",
                   errno == 0 ? "closed" : std::strerror(errno)));
}

}  // namespace

int ToolMain(int argc, char** argv, const ToolInfo& info,
             const ToolBody& body) {
  // glog writes files unless told otherwise; a flag can still change it.
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  absl::StatusOr<ExitCode> code = Run(Arguments(argc, argv), info, body);
  absl::Status status = code.status();
  errno = 0;
  status.Update(FlushOutput());
  if (status.ok()) return static_cast<int>(*code);
  std::cerr << info.name << ": " << OneLine(status.message()) << "\n";
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace feedrate
