#include "lib/machine/command.h"

#include <gtest/gtest.h>

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
  // The shell's child holds the pipe; only its death ends the test in time.
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      RunCommand({"sh", "-c", "sleep 600 & wait"}, absl::Milliseconds(50))
          .status()));
  // One that closes its output early and stays.
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      RunCommand({"sh", "-c", "exec >&-; sleep 600"}, absl::Milliseconds(50))
          .status()));
}

}  // namespace
}  // namespace feedrate
