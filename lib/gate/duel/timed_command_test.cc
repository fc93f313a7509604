#include "lib/gate/duel/timed_command.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lib/base/clock_jump.h"

// Null without the sanitizer.
extern "C" void __attribute__((weak)) __asan_init();
extern "C" void __attribute__((weak)) __tsan_init();

namespace feedrate {
namespace {

TimedCommandResult RunIt(const TimedCommand& spec) {
  const absl::StatusOr<TimedCommandResult> result = RunTimedCommand(spec);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

TimedCommandResult RunIt(const std::string& command) {
  TimedCommand spec;
  spec.command = command;
  return RunIt(spec);
}

TEST(TimedCommandTest, GivesOutputTimeAndMemory) {
  const TimedCommandResult result = RunIt("echo one; echo two; sleep 0.02");
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output, "one\ntwo\n");
  EXPECT_EQ(result.Status(), "ok");
  EXPECT_EQ(result.Reason(), "");
  EXPECT_GE(result.wall_s, 0.02);
  EXPECT_GT(result.rss_peak_bytes, 100000);
}

TEST(TimedCommandTest, CountsWhatTheCommandAndItsChildrenUse) {
  const TimedCommandResult little = RunIt("true");
  const TimedCommandResult much =
      RunIt("sh -c 'head -c 3000000 /dev/zero | cat | wc -c >/dev/null'");
  EXPECT_GE(much.usage.read_bytes(), 9000000);
  EXPECT_GE(much.usage.written_bytes(), 6000000);
  EXPECT_LT(little.usage.read_bytes(), 1000000);
  EXPECT_GT(much.usage.cpu_s(), 0);
  EXPECT_GT(much.usage.page_faults(), little.usage.page_faults());
  // Where there are hardware counters.
  if (much.usage.has_instructions()) {
    EXPECT_GT(much.usage.instructions(), little.usage.instructions());
  }
}

// Programs of the test, compiled from lib/gate/duel/allocations/allocating.cc.
constexpr char kAllocating[] = "lib/gate/duel/allocations/allocating";

class AllocationsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (__asan_init != nullptr || __tsan_init != nullptr) {
      GTEST_SKIP() << "a sanitizer replaces malloc too, and must come first";
    }
  }
  TimedCommandResult Counted(const std::string& command) const {
    TimedCommand spec;
    spec.command = command;
    spec.allocations = counter_.get();
    const TimedCommandResult result = RunIt(spec);
    EXPECT_TRUE(result.ok()) << result.Reason();
    return result;
  }
  std::string WhyNot(const std::string& command) const {
    const TimedCommandResult result = Counted(command);
    EXPECT_FALSE(result.usage.has_allocations());
    return result.uncounted_reason;
  }

  const std::unique_ptr<AllocationCounter> counter_ =
      *AllocationCounter::Make();
};

TEST_F(AllocationsTest, AllThreadsAndProcessesCount) {
  const Usage none = Counted(absl::StrCat(kAllocating, " 0")).usage;
  const Usage some = Counted(absl::StrCat(kAllocating, " 1000")).usage;
  EXPECT_GT(none.allocations(), 0);
  // Nine calls per round, by four threads and a child.
  EXPECT_EQ(some.allocations() - none.allocations(), 9 * 5 * 1000);
  EXPECT_EQ(some.allocated_bytes() - none.allocated_bytes(),
            256 * 9 * 5 * 1000);
  // A program that it becomes, and one in a pipe.
  const std::string twice =
      absl::StrCat(kAllocating, " 10 ", kAllocating, " 30");
  const Usage chain = Counted(absl::StrCat(twice, " | cat")).usage;
  const Usage idle =
      Counted(absl::StrCat(kAllocating, " 0 ", kAllocating, " 0 | cat")).usage;
  EXPECT_EQ(chain.allocations() - idle.allocations(), 9 * 5 * 40);
}

TEST_F(AllocationsTest, SaysWhyItDoesNotCount) {
  const std::string program = absl::StrCat(kAllocating, "_static");
  EXPECT_EQ(WhyNot(absl::StrCat(program, " 1")),
            absl::StrCat(program, " is a static program; link it dynamically"));
  EXPECT_EQ(WhyNot(absl::StrCat(kAllocating, " 1 ", program, " 1")),
            absl::StrCat(program, " is a static program; link it dynamically"));
  EXPECT_EQ(WhyNot("env -i /bin/true"),
            "/bin/true is started without LD_PRELOAD and FEEDRATE_ALLOCATIONS "
            "in its environment");
  TimedCommand spec;
  spec.shell = "";
  spec.command = program;
  spec.allocations = counter_.get();
  EXPECT_EQ(RunIt(spec).uncounted_reason.substr(0, 27),
            "the command, or the shell t");
  // Nothing of that is left for the next run.
  EXPECT_TRUE(Counted("true").usage.has_allocations());
}

TEST(TimedCommandTest, LargeOutputArrivesWhole) {
  EXPECT_EQ(RunIt("head -c 3000000 /dev/zero").output.size(), 3000000);
}

TEST(TimedCommandTest, TellsHowItEnded) {
  EXPECT_EQ(RunIt("echo bad >&2; exit 3").Reason(), "exit code 3: bad");
  EXPECT_EQ(RunIt("exit 3").Status(), "failed");
  const TimedCommandResult crashed = RunIt("kill -SEGV $$");
  EXPECT_EQ(crashed.Status(), "crashed");
  EXPECT_EQ(crashed.Reason(), "killed by signal 11 (Segmentation fault)");
}

TEST(TimedCommandTest, SeesThroughAShellThatReportsASignal) {
  const TimedCommandResult result = RunIt("sh -c 'kill -ABRT $$'; exit $?");
  EXPECT_EQ(result.Status(), "crashed");
  EXPECT_EQ(result.Reason().substr(0, 28), "killed by signal 6 (Aborted)");
}

// Long for any machine, but short compared with the sleeps that are cut off.
constexpr double kSoonS = 120;

TEST(TimedCommandTest, KillsWhatTakesTooLong) {
  TimedCommand spec;
  spec.command = "sleep 600";
  spec.timeout_s = 0.1;
  const TimedCommandResult result = RunIt(spec);
  EXPECT_EQ(result.Status(), "timeout");
  EXPECT_LT(result.wall_s, kSoonS);
}

TEST(TimedCommandTest, TheLimitIsMeasuredByTheMonotonicClock) {
  TimedCommand spec;
  spec.command = "sleep 0.3";
  spec.timeout_s = 60;
  {
    const ClockJump ahead(absl::Hours(5), absl::Milliseconds(100));
    const auto result = RunTimedCommand(spec);
    EXPECT_TRUE(result->ok()) << result->Reason();
    EXPECT_LT(result->wall_s, 60);
  }
  spec.command = "sleep 600";
  spec.timeout_s = 0.3;
  const ClockJump back(-absl::Hours(5), absl::Milliseconds(100));
  const auto result = RunTimedCommand(spec);
  EXPECT_TRUE(result->timed_out);
  EXPECT_LT(result->wall_s, 60);
}

TEST(TimedCommandTest, StopsWhenAsked) {
  TimedCommand spec;
  spec.command = "sleep 600";
  spec.is_stopped = [] { return true; };
  EXPECT_TRUE(RunIt(spec).stopped);
}

TEST(TimedCommandTest, WhatIsStoppedMayCleanUp) {
  // Asked to end once it is ready for that.
  const std::string ready = absl::StrCat(testing::TempDir(), "/ready");
  TimedCommand spec;
  spec.is_stopped = [&] { return access(ready.c_str(), F_OK) == 0; };
  spec.command = absl::StrCat("trap 'echo clean; exit 3' TERM; touch ", ready,
                              "; while :; do sleep 0.01; done");
  EXPECT_EQ(RunIt(spec).output, "clean\n");
  unlink(ready.c_str());
  // One that does not listen is killed.
  spec.command = absl::StrCat("trap '' TERM; touch ", ready,
                              "; while :; do sleep 0.01; done");
  spec.grace_s = 0.2;
  const TimedCommandResult result = RunIt(spec);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(WTERMSIG(result.wait_status), SIGKILL);
  unlink(ready.c_str());
}

TEST(TimedCommandTest, DoesNotWaitForWhatIsLeftBehind) {
  const TimedCommandResult result = RunIt("sleep 600 & echo started");
  EXPECT_EQ(result.output, "started\n");
  EXPECT_LT(result.wall_s, kSoonS);
}

TEST(TimedCommandTest, PinsAndSetsVariables) {
  TimedCommand spec;
  spec.command = "grep Cpus_allowed_list /proc/self/status; echo $FEED_X";
  spec.cpus = {0};
  spec.variables = {"FEED_X=7"};
  EXPECT_EQ(RunIt(spec).output, "Cpus_allowed_list:\t0\n7\n");
}

TEST(TimedCommandTest, BurnsAfterTheCommandAndKeepsItsStatus) {
  TimedCommand spec;
  spec.command = "sleep 0.05; exit 4";
  spec.burn_percent = 100;
  const TimedCommandResult result = RunIt(spec);
  EXPECT_GE(result.wall_s, 0.1);
  EXPECT_EQ(result.Reason(), "exit code 4");
  spec.command = "kill -ABRT $$";
  EXPECT_EQ(RunIt(spec).Status(), "crashed");
}

TEST(TimedCommandTest, RunsWithoutAShell) {
  TimedCommand spec;
  spec.shell = "";
  spec.command = "echo 'a  b' c\\ d";
  EXPECT_EQ(RunIt(spec).output, "a  b c d\n");
  spec.command = "/no/such/program";
  EXPECT_EQ(RunIt(spec).Reason(),
            "exit code 127: cannot start /no/such/program: No such file or "
            "directory");
  spec.command = "echo 'x";
  EXPECT_FALSE(RunTimedCommand(spec).ok());
  spec.command = "  ";
  EXPECT_FALSE(RunTimedCommand(spec).ok());
}

TEST(SplitCommandTest, Words) {
  EXPECT_EQ(*SplitCommand("a \"b 'c\" '' d\"e\"f"),
            (std::vector<std::string>{"a", "b 'c", "", "def"}));
}

}  // namespace
}  // namespace feedrate
