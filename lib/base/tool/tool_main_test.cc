#include "lib/base/tool/tool_main.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/base/tool/writer_main.h"

DEFINE_int32(test_runs, 1, "N: how often");
DEFINE_int64(test_items, 7, "N: for this test");
DEFINE_bool(test_dry, false, "for this test");
DEFINE_bool(test_on, true, "for this test");
DEFINE_string(test_name, "", "for this test");

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

// Runs ToolMain in a child process, because it sets flags and logging for the
// whole process.
Outcome RunTool(std::vector<std::string> args, const ToolBody& body,
                const std::string& out_path = Path("out"),
                bool takes_arguments = false, const std::string& in_path = "") {
  const pid_t child = fork();
  if (child == 0) {
    Redirect(STDOUT_FILENO, out_path);
    Redirect(STDERR_FILENO, Path("err"));
    if (!in_path.empty()) {
      close(STDIN_FILENO);
      open(in_path.c_str(), O_RDONLY | O_NOCTTY);
    }
    ToolInfo info;
    info.name = "tool";
    info.summary = "does a thing";
    info.takes_arguments = takes_arguments;
    info.reads_files = !in_path.empty();
    info.flag_files = {"tool_main_test.cc"};
    args.insert(args.begin(), "tool");
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(&arg[0]);
    _exit(ToolMain(static_cast<int>(argv.size()), argv.data(), info, body));
  }
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome;
  // As a shell says it.
  outcome.code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = ReadFile(Path("out")).value_or("");
  outcome.err = ReadFile(Path("err")).value_or("");
  return outcome;
}

absl::StatusOr<ExitCode> PrintRuns(const std::vector<std::string>& rest) {
  std::cout << FLAGS_test_runs << " runs of " << rest.size() << "\n";
  return ExitCode::kDone;
}

TEST(ToolMainTest, RunsTheBodyWithFlags) {
  const Outcome outcome = RunTool({"--test-runs=3"}, PrintRuns);
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

TEST(ToolMainTest, TheMiddleOfAnErrorWithoutEndIsLeftOut) {
  // 'ö' has two bytes, and 2,000 bytes are kept at each end.
  std::string name = "f:1: x";
  for (int i = 0; i < 3000; ++i) name += "ö";
  const ToolBody body = [&](const std::vector<std::string>&) {
    return absl::InvalidArgumentError(name + " is wrong; do that");
  };
  const Outcome outcome = RunTool({}, body);
  EXPECT_THAT(outcome.err, StartsWith("tool: f:1: xöö"));
  EXPECT_THAT(outcome.err, HasSubstr("ö [2024 bytes left out] ö"));
  EXPECT_TRUE(absl::EndsWith(outcome.err, "öö is wrong; do that\n"));
  EXPECT_LT(outcome.err.size(), 4100);
}

// The signal would end the program without a word, and leave what it wrote.
// A job of two billion items ended micro by a signal.
TEST(ToolMainTest, MemoryThatIsNotThereIsAnError) {
  for (const size_t size : {size_t{1} << 46, ~size_t{0} / 4}) {
    const ToolBody body = [size](const std::vector<std::string>&) {
      std::vector<double> items;
      items.resize(size);
      return items.empty() ? ExitCode::kDone : ExitCode::kCannotTell;
    };
    const Outcome outcome = RunTool({}, body);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, StartsWith("tool: there is not enough memory"));
  }
}

// It ended programs by SIGABRT.
TEST(ToolMainTest, AThreadThatTheSystemRefusesIsAnError) {
  const ToolBody body = [](const std::vector<std::string>&) {
    // No address space has room for such a stack.
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 50);
    pthread_setattr_default_np(&huge);
    // As in a program, and other than here, nobody catches what it throws.
    const auto start = []() noexcept { std::thread([] {}).join(); };
    start();
    return ExitCode::kDone;
  };
  const Outcome outcome = RunTool({}, body);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, StartsWith("tool: cannot start a thread: "));
}

TEST(ToolMainTest, AFileOverTheLimitIsAnErrorAndLeavesNothing) {
  const std::string folder = Path("limit");
  ASSERT_TRUE(MakeFolder(folder).ok());
  const ToolBody body =
      [&](const std::vector<std::string>&) -> absl::StatusOr<ExitCode> {
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status =
        WriteFileAtomically(folder + "/f", std::string(5000, 'x'));
    if (status.ok()) return ExitCode::kDone;
    return status;
  };
  const Outcome outcome = RunTool({}, body);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  EXPECT_THAT(outcome.err, HasSubstr("ulimit -f"));
  EXPECT_THAT(*ListFiles(folder, "", /*recursive=*/true), IsEmpty());
}

TEST(ToolMainTest, AMistakeRepeatsNoSecret) {
  const Outcome outcome =
      RunTool({"--test_nmae=https://me:hunter2@h/x?sig=hunter2"}, PrintRuns);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, Not(HasSubstr("hunter2")));
  EXPECT_THAT(RunTool({"https://h/x?sig=hunter2"}, PrintRuns).err,
              Not(HasSubstr("hunter2")));
}

TEST(ToolMainTest, HelpAndVersionAndCompletionExitWithZero) {
  for (const char* flag : {"--help", "-h", "--help=true"}) {
    const Outcome help = RunTool({flag}, PrintRuns);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, StartsWith("tool: does a thing\n"));
    EXPECT_THAT(help.out, HasSubstr("--test_runs=N"));
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
  Outcome outcome = RunTool({"--test_rnus=3"}, PrintRuns);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "tool: unknown flag --test_rnus=3; did you mean --test_runs?\n");
  outcome = RunTool({"stray"}, PrintRuns);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("unexpected argument \"stray\""));
  outcome = RunTool({"--completion="}, PrintRuns);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("use --completion=bash|zsh|fish"));
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
  EXPECT_THAT(outcome.err,
              HasSubstr("standard output: cannot write: No space left"));
  EXPECT_EQ(RunTool({"--help"}, PrintRuns, "/dev/full").code, 2);
  // The write fails long before the end, and other calls set errno since.
  const Outcome large = RunTool(
      {},
      [](const std::vector<std::string>&) {
        std::cout << std::string(1 << 20, 'x');
        errno = 0;
        return ExitCode::kDone;
      },
      "/dev/full");
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.err, HasSubstr("No space left"));
}

// As `| head` does. Runners ignore the signal; other programs do not.
TEST(ToolMainTest, AProgramWhoseReaderIsGoneEndsSilently) {
  for (const bool ignores : {true, false}) {
    const Outcome outcome = RunTool({}, [&](const std::vector<std::string>&) {
      if (ignores) signal(SIGPIPE, SIG_IGN);
      int ends[2];
      if (pipe(ends) == 0) dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      std::cout << "text";
      return ExitCode::kDone;
    });
    EXPECT_EQ(outcome.code, 128 + SIGPIPE) << ignores;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(ToolMainTest, WithoutAFileStandardInputIsRead) {
  const ToolBody print = [](const std::vector<std::string>& files) {
    for (const std::string& file : files) std::cout << file << "\n";
    return ExitCode::kDone;
  };
  EXPECT_EQ(RunTool({}, print, Path("out"), false, "/dev/null").out, "-\n");
  EXPECT_EQ(RunTool({"a", "b"}, print, Path("out"), false, "/dev/null").out,
            "a\nb\n");
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  const Outcome typed =
      RunTool({}, print, Path("out"), false, ptsname(terminal));
  close(terminal);
  EXPECT_EQ(typed.code, 1);
  EXPECT_THAT(typed.err, HasSubstr("no file is given"));
}

class FlagParserTest : public ::testing::Test {
 private:
  gflags::FlagSaver saver_;
};

std::string ErrorOf(const std::vector<std::string>& args) {
  return std::string(ParseFlags(args).status().message());
}

TEST_F(FlagParserTest, HyphensAndUnderscoresAreAlike) {
  EXPECT_THAT(*ParseFlags({"--test-items=3"}), IsEmpty());
  EXPECT_EQ(FLAGS_test_items, 3);
  EXPECT_THAT(*ParseFlags({"--test_items", "4"}), IsEmpty());
  EXPECT_EQ(FLAGS_test_items, 4);
  EXPECT_THAT(*ParseFlags({"-test_items=-5"}), IsEmpty());
  EXPECT_EQ(FLAGS_test_items, -5);
}

TEST_F(FlagParserTest, HyphensInValuesStay) {
  ASSERT_TRUE(ParseFlags({"--test-name=a-b=c"}).ok());
  EXPECT_EQ(FLAGS_test_name, "a-b=c");
}

TEST_F(FlagParserTest, BooleansSwitchOnAndOff) {
  EXPECT_THAT(*ParseFlags({"--test-dry", "--no-test-on", "x"}),
              ElementsAre("x"));
  EXPECT_TRUE(FLAGS_test_dry);
  EXPECT_FALSE(FLAGS_test_on);
  ASSERT_TRUE(ParseFlags({"--notest_dry", "--test_on=true"}).ok());
  EXPECT_FALSE(FLAGS_test_dry);
  EXPECT_TRUE(FLAGS_test_on);
}

TEST_F(FlagParserTest, WhatIsNotAFlagIsReturned) {
  EXPECT_THAT(*ParseFlags({"a", "-", "-3", "--test-dry", "--", "--b"}),
              ElementsAre("a", "-", "-3", "--b"));
}

TEST_F(FlagParserTest, UnknownFlagNamesTheNearest) {
  EXPECT_EQ(ErrorOf({"--test-itmes=3"}),
            "unknown flag --test-itmes=3; did you mean --test_items?");
  EXPECT_EQ(ErrorOf({"--qqqqqqqqqq"}),
            "unknown flag --qqqqqqqqqq; --help lists the flags");
}

TEST_F(FlagParserTest, WrongValueSaysWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf({"--test-items=three"}),
            "--test_items: \"three\" is not a whole number");
  EXPECT_EQ(ErrorOf({"--test-items=99999999999999999999"}),
            "--test_items: \"99999999999999999999\" is not a whole number");
  EXPECT_EQ(ErrorOf({"--test-dry=maybe"}),
            "--test_dry: \"maybe\" is not true or false");
  EXPECT_EQ(FLAGS_test_items, 7);
}

TEST_F(FlagParserTest, MissingValueIsAnError) {
  EXPECT_EQ(ErrorOf({"--test-items"}),
            "--test_items: a value is missing; use --test_items=N");
  EXPECT_EQ(ErrorOf({"--completion"}),
            "--completion: a value is missing; use --completion=bash|zsh|fish");
  EXPECT_THAT(ErrorOf({"--no-test-dry=1"}), HasSubstr("takes no value"));
}

// Ends the process, because flags and logging can be initialized only once.
void EndAsWriter(std::vector<std::string> words, const absl::Status& outcome) {
  words.insert(words.begin(), "write_things");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  WriterInfo info;
  info.name = "write_things";
  _exit(WriterMain(static_cast<int>(argv.size()), argv.data(), info,
                   [&](const std::string& folder) {
                     std::cerr << "into " << folder << "\n";
                     return outcome;
                   }));
}

TEST(WriterMainTest, WritesIntoTheFolderThatIsNamed) {
  EXPECT_EXIT(EndAsWriter({"--folder=a b"}, absl::OkStatus()),
              ExitedWithCode(0), "into a b");
}

TEST(WriterMainTest, MistakesAndFailures) {
  EXPECT_EXIT(EndAsWriter({}, absl::OkStatus()), ExitedWithCode(1),
              "--folder is missing");
  EXPECT_EXIT(EndAsWriter({"--folder=c"}, absl::InternalError("full")),
              ExitedWithCode(2), "write_things: full");
}

}  // namespace
}  // namespace feedrate
