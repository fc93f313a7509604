#include "lib/base/tool/tool_main.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <streambuf>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "glog/logging.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/flags.h"

namespace feedrate {
namespace {

using gflags::CommandLineFlagInfo;

bool IsFlag(absl::string_view arg) {
  if (arg.size() < 2 || arg[0] != '-') return false;
  // `-1` is a number, which a program may take as a positional argument.
  return !absl::ascii_isdigit(arg[1]);
}

// A flag on the command line, with its name in gflags' spelling.
struct Flag {
  std::string name;
  absl::optional<std::string> value;
};

Flag Split(absl::string_view arg) {
  arg.remove_prefix(absl::StartsWith(arg, "--") ? 2 : 1);
  Flag flag;
  const size_t equals = arg.find('=');
  if (equals != absl::string_view::npos) {
    flag.value = std::string(arg.substr(equals + 1));
  }
  flag.name = absl::StrReplaceAll(arg.substr(0, equals), {{"-", "_"}});
  return flag;
}

std::vector<std::string> OwnFlagNames() {
  std::vector<CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> names;
  for (const CommandLineFlagInfo& flag : flags) names.push_back(flag.name);
  return names;
}

absl::Status UnknownFlag(absl::string_view arg, const std::string& name) {
  const std::string nearest = Nearest(name, OwnFlagNames());
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown flag ", WithoutQueries(arg),
      nearest.empty() ? "; --help lists the flags"
                      : absl::StrCat("; did you mean --", nearest, "?")));
}

absl::string_view TypeInWords(const std::string& type) {
  if (type == "int32" || type == "int64") return "a whole number";
  if (type == "uint32" || type == "uint64") return "a whole number from 0";
  if (type == "double") return "a number";
  if (type == "bool") return "true or false";
  return "text";
}

absl::Status Set(const CommandLineFlagInfo& info, const std::string& value) {
  if (!gflags::SetCommandLineOption(info.name.c_str(), value.c_str()).empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--", info.name, ": \"", value, "\" is not ", TypeInWords(info.type)));
}

absl::Status MissingValue(const CommandLineFlagInfo& info) {
  const ShownFlag flag = DescribeFlag(info);
  return absl::InvalidArgumentError(absl::StrCat(
      "--", info.name, ": a value is missing; use --", info.name, "=",
      flag.choices.empty() ? flag.placeholder
                           : absl::StrJoin(flag.choices, "|")));
}

// Finds the flag `name`, or the boolean flag that `name` negates.
bool Find(const std::string& name, CommandLineFlagInfo* info, bool* negated) {
  *negated = false;
  if (gflags::GetCommandLineFlagInfo(name.c_str(), info)) return true;
  if (!absl::StartsWith(name, "no")) return false;
  const size_t prefix = absl::StartsWith(name, "no_") ? 3 : 2;
  *negated = true;
  return gflags::GetCommandLineFlagInfo(name.substr(prefix).c_str(), info) &&
         info->type == "bool";
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseFlags(
    const std::vector<std::string>& args) {
  FileFlags::Register({__FILE__});
  std::vector<std::string> positional;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      positional.insert(positional.end(), args.begin() + i + 1, args.end());
      break;
    }
    if (!IsFlag(args[i])) {
      positional.push_back(args[i]);
      continue;
    }
    Flag flag = Split(args[i]);
    CommandLineFlagInfo info;
    bool negated;
    if (!Find(flag.name, &info, &negated))
      return UnknownFlag(args[i], flag.name);
    if (info.type == "bool" && !flag.value.has_value()) {
      flag.value = negated ? "false" : "true";
    } else if (negated) {
      return absl::InvalidArgumentError(
          absl::StrCat(args[i], ": takes no value; use --", info.name, "=…"));
    }
    if (!flag.value.has_value()) {
      if (++i == args.size()) {
        return MissingValue(info);
      }
      flag.value = args[i];
    }
    RETURN_IF_ERROR(Set(info, *flag.value));
  }
  return positional;
}

}  // namespace feedrate

DEFINE_string(completion, "",
              "SHELL: print a completion script {bash|zsh|fish}");

DECLARE_bool(help);
DECLARE_bool(helpfull);
DECLARE_bool(version);

namespace feedrate {
namespace {

// Replaces -h by --help, because gflags has no short names.
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
  ASSIGN_OR_RETURN(std::vector<std::string> rest, ParseFlags(args));
  if (FLAGS_help || FLAGS_helpfull) {
    std::cout << HelpText(info, FLAGS_helpfull);
    return ExitCode::kDone;
  }
  if (FLAGS_version) {
    std::cout << info.name << " " << kVersion << "\n";
    return ExitCode::kDone;
  }
  const CommandLineFlagInfo completion =
      gflags::GetCommandLineFlagInfoOrDie("completion");
  if (!completion.is_default) {
    if (FLAGS_completion.empty()) return MissingValue(completion);
    ASSIGN_OR_RETURN(const std::string script,
                     CompletionScript(info, FLAGS_completion));
    std::cout << script;
    return ExitCode::kDone;
  }
  if (rest.empty() && info.reads_files) {
    if (isatty(STDIN_FILENO) == 1) {
      return absl::InvalidArgumentError(
          "no file is given; name files or folders, or pipe records in");
    }
    rest.push_back("-");
  }
  if (!rest.empty() && !info.takes_arguments && !info.reads_files) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"",
                                                   WithoutQueries(rest[0]),
                                                   "\"; flags start with --"));
  }
  return body(rest);
}

// The buffer of std::cout while a program runs. Unlike the default buffer it
// remembers why a write failed: the body goes on, so errno does not last.
class OutputBuffer : public std::streambuf {
 public:
  OutputBuffer() : replaced_(std::cout.rdbuf(this)) {}
  ~OutputBuffer() override { std::cout.rdbuf(replaced_); }

  absl::Status Finish() {
    sync();
    if (error_ == 0) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("standard output: cannot write: ",
                     error_ == EBADF ? "closed" : std::strerror(error_)));
  }

 protected:
  int overflow(int c) override {
    text_ += static_cast<char>(c);
    return text_.size() < kFull || sync() == 0 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    text_.append(text, static_cast<size_t>(size));
    return text_.size() < kFull || sync() == 0 ? size : 0;
  }
  int sync() override {
    absl::string_view rest = text_;
    while (!rest.empty() && error_ == 0) {
      const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
      if (written >= 0) {
        rest.remove_prefix(static_cast<size_t>(written));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    text_.clear();
    return error_ == 0 ? 0 : -1;
  }

 private:
  static constexpr size_t kFull = 1 << 16;

  std::streambuf* const replaced_;
  std::string text_;
  int error_ = 0;
};

// Whether nobody reads standard output any more, as after `| head`.
bool ReaderIsGone() {
  pollfd output = {STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

namespace {

// What others wrote may ask for more memory than there is. The copies that were
// made until then are given back, so that a message can be printed.
absl::StatusOr<ExitCode> RunInMemory(const std::vector<std::string>& args,
                                     const ToolInfo& info,
                                     const ToolBody& body) {
  try {
    return Run(args, info, body);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return absl::ResourceExhaustedError(
      "there is not enough memory for this; ask for fewer or smaller items, or "
      "use a machine with more");
}

const char* tool_name = "";
std::terminate_handler before_ours = nullptr;

// A thread that the system refuses, wherever it was asked for. What is written
// is whole; what was started ends with this process.
[[noreturn]] void OnTerminate() {
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::system_error& error) {
    const std::string text = absl::StrCat(
        tool_name, ": cannot start a thread: ", error.code().message(),
        "; allow more processes or memory (ulimit -u, -v)\n");
    (void)!write(STDERR_FILENO, text.data(), text.size());
    _exit(static_cast<int>(ExitCode::kRunFailed));
  } catch (...) {
  }
  before_ours();
  abort();
}

// What a person reads of an error that quotes a config or a row of any size: of
// more than 4,000 bytes the middle is left out, and counted.
std::string PrintableError(absl::string_view text) {
  constexpr size_t kMost = 4000;
  if (text.size() <= kMost) return PrintableText(text);
  size_t begin = kMost / 2;
  size_t end = text.size() - kMost / 2;
  // Not within a character.
  const auto is_inner = [&](size_t i) { return (text[i] & 0xC0) == 0x80; };
  while (begin > 0 && is_inner(begin)) --begin;
  while (end < text.size() && is_inner(end)) ++end;
  return absl::StrCat(PrintableText(text.substr(0, begin)), " [", end - begin,
                      " bytes left out] ", PrintableText(text.substr(end)));
}

}  // namespace

int ToolMain(int argc, char** argv, const ToolInfo& info,
             const ToolBody& body) {
  // By default glog writes to files. The flag can still override this.
  FLAGS_logtostderr = true;
  tool_name = info.name.c_str();
  before_ours = std::set_terminate(&OnTerminate);
  // A file that grows over the limit of `ulimit -f` is an error with a message,
  // and what is half-written is removed.
  signal(SIGXFSZ, SIG_IGN);
  FileFlags::Register(info.flag_files);
  google::InitGoogleLogging(argv[0]);
  OutputBuffer output;
  absl::StatusOr<ExitCode> code =
      RunInMemory(Arguments(argc, argv), info, body);
  absl::Status status = code.status();
  status.Update(output.Finish());
  if (status.ok()) return static_cast<int>(*code);
  if (absl::IsUnavailable(status) && ReaderIsGone()) {
    // Runners ignore the signal until they have cleaned up; then they end like
    // every other program.
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
  }
  std::cerr << info.name << ": " << PrintableError(status.message()) << "\n";
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace feedrate
