#include "lib/machine/git_state.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/base/clock_jump.h"
#include "lib/base/stopwatch.h"
#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);

TEST(CommandTest, GivesTheOutput) {
  const absl::StatusOr<std::string> output =
      RunCommand({"printf", "%s|%s", "a b", "$HOME; *"}, kLong);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "a b|$HOME; *") << "arguments must pass through no shell";
}

TEST(CommandTest, LongOutput) {
  const absl::StatusOr<std::string> output =
      RunCommand({"head", "-c", "300000", "/dev/zero"}, kLong);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->size(), 300000);
}

TEST(CommandTest, StandardInputIsEmpty) {
  const absl::StatusOr<std::string> output = RunCommand({"cat"}, kLong);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(*output, "");
}

TEST(CommandTest, Failures) {
  EXPECT_TRUE(absl::IsNotFound(
      RunCommand({"feedrate-no-such-program"}, kLong).status()));
  EXPECT_TRUE(absl::IsAborted(RunCommand({"false"}, kLong).status()));
}

TEST(CommandTest, TimeLimitEndsAProgramAndItsChildren) {
  // The shell's child holds the pipe open, so it must be killed too for the
  // test to end in time.
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      RunCommand({"sh", "-c", "sleep 600 & wait"}, absl::Milliseconds(50))
          .status()));
  // A program that closes its output early and keeps running.
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      RunCommand({"sh", "-c", "exec >&-; sleep 600"}, absl::Milliseconds(50))
          .status()));
}

// A clock that jumps ahead must not end a program, and one that jumps back must
// not extend its time.
TEST(CommandTest, TheTimeLimitIsMeasuredByTheMonotonicClock) {
  {
    const ClockJump ahead(absl::Hours(5), absl::Milliseconds(100));
    const absl::Time before = absl::Now();
    EXPECT_TRUE(
        RunCommand({"sh", "-c", "sleep 0.2; echo; sleep 0.1"}, kLong).ok());
    ASSERT_GT(absl::Now() - before, absl::Hours(4)) << "the clock did not jump";
  }
  const ClockJump back(-absl::Hours(5), absl::Milliseconds(100));
  const Stopwatch watch;
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      RunCommand({"sleep", "600"}, absl::Milliseconds(300)).status()));
  EXPECT_LT(watch.Elapsed(), kLong);
}

constexpr char kHash[] = "0123456789abcdef0123456789abcdef01234567";

TEST(GitStateTest, CleanStatus) {
  const GitState state = ParseGitStatus(
      absl::StrCat("# branch.oid ", kHash, "\n# branch.head main\n"));
  EXPECT_EQ(state.revision, kHash);
  EXPECT_EQ(state.dirty, false);
}

TEST(GitStateTest, ChangedFilesAreDirty) {
  const GitState state = ParseGitStatus(
      absl::StrCat("# branch.oid ", kHash,
                   "\n1 .M N... 100644 100644 100644 a b lib/x.cc\n"));
  EXPECT_EQ(state.revision, kHash);
  EXPECT_EQ(state.dirty, true);
}

TEST(GitStateTest, UntrackedFilesAreNot) {
  EXPECT_EQ(ParseGitStatus("# branch.oid (initial)\n? new.txt\n").dirty, false);
  EXPECT_EQ(ParseGitStatus("# branch.oid (initial)\n").revision, "");
}

TEST(GitStateTest, OutsideACheckoutIsEmpty) {
  FakeRoot files;
  const GitState state = ReadGitState(files.folder());
  EXPECT_EQ(state.revision, "");
  EXPECT_EQ(state.dirty, std::nullopt);
  EXPECT_EQ(ReadGitState("/no/such/folder").revision, "");
}

TEST(GitStateTest, RevisionFromFiles) {
  FakeRoot files;
  files.Write("/.git/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(ReadRevisionFiles(files.folder()), "");
  files.Write("/.git/packed-refs", absl::StrCat("# pack-refs with: peeled\n",
                                                kHash, " refs/heads/main\n"));
  EXPECT_EQ(ReadRevisionFiles(files.folder()), kHash);
  const std::string newer(40, 'a');
  files.Write("/.git/refs/heads/main", newer + "\n");
  EXPECT_EQ(ReadRevisionFiles(files.folder()), newer);
  files.Write("/.git/HEAD", absl::StrCat(kHash, "\n"));
  EXPECT_EQ(ReadRevisionFiles(files.folder()), kHash);
  files.Write("/.git/HEAD", "garbage");
  EXPECT_EQ(ReadRevisionFiles(files.folder()), "");
}

TEST(GitStateTest, RevisionOfAWorktree) {
  FakeRoot files;
  files.Write("/tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
  files.Write("/main/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n");
  files.Write("/main/.git/worktrees/tree/commondir", "../..\n");
  files.Write("/main/.git/refs/heads/side", absl::StrCat(kHash, "\n"));
  EXPECT_EQ(ReadRevisionFiles(absl::StrCat(files.folder(), "/tree")), kHash);
}

// Uses the real git, if it is installed.
class RealGitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    setenv("HOME", files_.folder().c_str(), 1);
    if (!RunCommand({"git", "--version"}, absl::Seconds(60)).ok()) {
      GTEST_SKIP() << "git is not installed";
    }
    Git({"init", "-q"});
  }

  void Git(std::vector<std::string> args) {
    args.insert(args.begin(), {"git", "-C", files_.folder(), "-c",
                               "user.name=x", "-c", "user.email=x@x"});
    const absl::StatusOr<std::string> output =
        RunCommand(args, absl::Seconds(60));
    ASSERT_TRUE(output.ok()) << output.status();
  }

  FakeRoot files_;
};

TEST_F(RealGitTest, FollowsACheckoutsLife) {
  EXPECT_EQ(ReadGitState(files_.folder()).revision, "");
  files_.Write("/sub/a.txt", "one");
  Git({"add", "."});
  EXPECT_EQ(ReadGitState(files_.folder()).dirty, true) << "staged";
  Git({"commit", "-q", "-m", "x"});
  const GitState clean = ReadGitState(absl::StrCat(files_.folder(), "/sub"));
  EXPECT_EQ(clean.revision.size(), 40);
  EXPECT_EQ(clean.revision, ReadRevisionFiles(files_.folder()));
  EXPECT_EQ(clean.dirty, false);
  files_.Write("/new.txt", "untracked");
  EXPECT_EQ(ReadGitState(files_.folder()).dirty, false);
  files_.Write("/sub/a.txt", "changed");
  EXPECT_EQ(ReadGitState(files_.folder()).dirty, true);
}

TEST_F(RealGitTest, WithoutGitTheRevisionIsStillRead) {
  files_.Write("/a.txt", "one");
  Git({"add", "."});
  Git({"commit", "-q", "-m", "x"});
  const std::string path = getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const GitState state = ReadGitState(files_.folder());
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(state.revision.size(), 40);
  EXPECT_EQ(state.dirty, std::nullopt);
}

}  // namespace
}  // namespace feedrate
