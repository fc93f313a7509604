#include "lib/base/tool_main.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/exit_code.h"
#include "lib/base/files.h"
#include "lib/base/tool_info.h"

DEFINE_int32(num_runs, 1, "N: how often");

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

std::string Path(const std::string& name) {
  return ::testing::TempDir() + "/tool_main_test_" + name;
}

void Redirect(int fd, const std::string& path) {
  close(fd);
  open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
}

// Runs the frame in a child: it sets flags and logging for the whole process.
Outcome RunTool(std::vector<std::string> args, const ToolBody& body,
                const std::string& out_path = Path("out"),
                bool takes_arguments = false) {
  const pid_t child = fork();
  if (child == 0) {
    Redirect(STDOUT_FILENO, out_path);
    Redirect(STDERR_FILENO, Path("err"));
    ToolInfo info;
    info.name = "tool";
    info.summary = "does a thing";
    info.takes_arguments = takes_arguments;
    info.flag_files = {"tool_main_test.cc"};
    args.insert(args.begin(), "tool");
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(&arg[0]);
    _exit(ToolMain(static_cast<int>(argv.size()), argv.data(), info, body));
  }
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome;
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  outcome.out = ReadFile(Path("out")).value_or("");
  outcome.err = ReadFile(Path("err")).value_or("");
  return outcome;
}

absl::StatusOr<ExitCode> PrintRuns(const std::vector<std::string>& rest) {
  std::cout << FLAGS_num_runs << " runs of " << rest.size() << "\n";
  return ExitCode::kDone;
}

TEST(ToolMainTest, RunsTheBodyWithFlags) {
  const Outcome outcome = RunTool({"--num-runs=3"}, PrintRuns);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "3 runs of 0\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(ToolMainTest, TheBodysCodeIsTheExitCode) {
  const ToolBody body = [](const std::vector<std::string>&) {
    return ExitCode::kCannotTell;
  };
  EXPECT_EQ(RunTool({}, body).code, 4);
}

TEST(ToolMainTest, AnErrorIsPrintedOnceInOneLine) {
  const ToolBody body = [](const std::vector<std::string>&) {
    return absl::InvalidArgumentError(
        "f:1:2: \"a\nb\033[31m\" is wrong: größe");
  };
  const Outcome outcome = RunTool({}, body);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "tool: f:1:2: \"a\\nb\\x1b[31m\" is wrong: größe\n");
}

TEST(ToolMainTest, HelpAndVersionAndCompletionExitWithZero) {
  for (const char* flag : {"--help", "-h", "--help=true"}) {
    const Outcome help = RunTool({flag}, PrintRuns);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, StartsWith("tool: does a thing\n"));
    EXPECT_THAT(help.out, HasSubstr("--num_runs=N"));
    EXPECT_THAT(help.out, Not(HasSubstr("logtostderr")));
  }
  EXPECT_THAT(RunTool({"--helpfull"}, PrintRuns).out,
              HasSubstr("--logtostderr"));
  EXPECT_EQ(RunTool({"--version"}, PrintRuns).out,
            std::string("tool ") + kVersion + "\n");
  EXPECT_THAT(RunTool({"--completion=bash"}, PrintRuns).out,
              HasSubstr("_feedrate_tool"));
}

TEST(ToolMainTest, MistakesOnTheCommandLine) {
  Outcome outcome = RunTool({"--num_rnus=3"}, PrintRuns);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "tool: unknown flag --num_rnus=3; did you mean --num_runs?\n");
  outcome = RunTool({"stray"}, PrintRuns);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("unexpected argument \"stray\""));
  outcome = RunTool({"--completion=tcsh"}, PrintRuns);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
}

TEST(ToolMainTest, ArgumentsReachABodyThatTakesThem) {
  EXPECT_EQ(RunTool({"a", "--", "--b", "-h"}, PrintRuns, Path("out"), true).out,
            "1 runs of 3\n");
}

TEST(ToolMainTest, OutputThatDoesNotArriveIsAFailedRun) {
  const Outcome outcome = RunTool({}, PrintRuns, "/dev/full");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write to standard output"));
  EXPECT_EQ(RunTool({"--help"}, PrintRuns, "/dev/full").code, 2);
}

}  // namespace
}  // namespace feedrate
