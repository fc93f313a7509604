#include "lib/gate/child.h"

#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

ChildResult RunIt(const ChildSpec& spec) {
  const absl::StatusOr<ChildResult> result = RunChild(spec);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

ChildResult RunIt(const std::string& command) {
  ChildSpec spec;
  spec.command = command;
  return RunIt(spec);
}

TEST(ChildTest, GivesOutputTimeAndMemory) {
  const ChildResult result = RunIt("echo one; echo two; sleep 0.02");
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output, "one\ntwo\n");
  EXPECT_EQ(result.Status(), "ok");
  EXPECT_EQ(result.Reason(), "");
  EXPECT_GE(result.wall_s, 0.02);
  EXPECT_GT(result.rss_peak_bytes, 100000);
}

TEST(ChildTest, LargeOutputArrivesWhole) {
  EXPECT_EQ(RunIt("head -c 3000000 /dev/zero").output.size(), 3000000);
}

TEST(ChildTest, TellsHowItEnded) {
  EXPECT_EQ(RunIt("echo bad >&2; exit 3").Reason(), "exit code 3: bad");
  EXPECT_EQ(RunIt("exit 3").Status(), "failed");
  const ChildResult crashed = RunIt("kill -SEGV $$");
  EXPECT_EQ(crashed.Status(), "crashed");
  EXPECT_EQ(crashed.Reason(), "killed by signal 11 (Segmentation fault)");
}

TEST(ChildTest, SeesThroughAShellThatReportsASignal) {
  const ChildResult result = RunIt("sh -c 'kill -ABRT $$'; exit $?");
  EXPECT_EQ(result.Status(), "crashed");
  EXPECT_EQ(result.Reason().substr(0, 28), "killed by signal 6 (Aborted)");
}

// Long for any machine, short against the sleeps that end too early.
constexpr double kSoonS = 120;

TEST(ChildTest, KillsWhatTakesTooLong) {
  ChildSpec spec;
  spec.command = "sleep 600";
  spec.timeout_s = 0.1;
  const ChildResult result = RunIt(spec);
  EXPECT_EQ(result.Status(), "timeout");
  EXPECT_LT(result.wall_s, kSoonS);
}

TEST(ChildTest, StopsWhenAsked) {
  ChildSpec spec;
  spec.command = "sleep 600";
  spec.is_stopped = [] { return true; };
  EXPECT_TRUE(RunIt(spec).stopped);
}

TEST(ChildTest, DoesNotWaitForWhatIsLeftBehind) {
  const ChildResult result = RunIt("sleep 600 & echo started");
  EXPECT_EQ(result.output, "started\n");
  EXPECT_LT(result.wall_s, kSoonS);
}

TEST(ChildTest, PinsAndSetsVariables) {
  ChildSpec spec;
  spec.command = "grep Cpus_allowed_list /proc/self/status; echo $FEED_X";
  spec.cpus = {0};
  spec.variables = {"FEED_X=7"};
  EXPECT_EQ(RunIt(spec).output, "Cpus_allowed_list:\t0\n7\n");
}

TEST(ChildTest, BurnsAfterTheCommandAndKeepsItsStatus) {
  ChildSpec spec;
  spec.command = "sleep 0.05; exit 4";
  spec.burn_percent = 100;
  const ChildResult result = RunIt(spec);
  EXPECT_GE(result.wall_s, 0.1);
  EXPECT_EQ(result.Reason(), "exit code 4");
  spec.command = "kill -ABRT $$";
  EXPECT_EQ(RunIt(spec).Status(), "crashed");
}

TEST(ChildTest, RunsWithoutAShell) {
  ChildSpec spec;
  spec.shell = "";
  spec.command = "echo 'a  b' c\\ d";
  EXPECT_EQ(RunIt(spec).output, "a  b c d\n");
  spec.command = "/no/such/program";
  EXPECT_EQ(RunIt(spec).Reason(), "exit code 127: cannot start the command");
  spec.command = "echo 'x";
  EXPECT_FALSE(RunChild(spec).ok());
  spec.command = "  ";
  EXPECT_FALSE(RunChild(spec).ok());
}

TEST(SplitCommandTest, Words) {
  EXPECT_EQ(*SplitCommand("a \"b 'c\" '' d\"e\"f"),
            (std::vector<std::string>{"a", "b 'c", "", "def"}));
}

}  // namespace
}  // namespace feedrate
