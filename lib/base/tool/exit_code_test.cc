#include "lib/base/tool/exit_code.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "gtest/gtest.h"
#include "lib/base/injected_slowdown.h"

namespace feedrate {
namespace {

// Scripts and CI rely on these numbers.
TEST(ExitCodeTest, NumbersAreTheContract) {
  EXPECT_EQ(static_cast<int>(ExitCode::kDone), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::kCallersMistake), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::kRunFailed), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kCheckSaidNo), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::kCannotTell), 4);
  EXPECT_EQ(static_cast<int>(ExitCode::kInvalid), 5);
  EXPECT_EQ(static_cast<int>(ExitCode::kInterrupted), 130);
}

TEST(ExitCodeTest, WhatTheCallerCanMendIsTheCallersMistake) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kDone);
  for (absl::StatusCode code :
       {absl::StatusCode::kInvalidArgument, absl::StatusCode::kNotFound,
        absl::StatusCode::kFailedPrecondition, absl::StatusCode::kAlreadyExists,
        absl::StatusCode::kOutOfRange}) {
    EXPECT_EQ(ExitCodeOf(absl::Status(code, "x")), ExitCode::kCallersMistake)
        << code;
  }
  for (absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kInternal,
        absl::StatusCode::kUnknown, absl::StatusCode::kDataLoss,
        absl::StatusCode::kResourceExhausted}) {
    EXPECT_EQ(ExitCodeOf(absl::Status(code, "x")), ExitCode::kRunFailed)
        << code;
  }
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("x")), ExitCode::kInterrupted);
}

bool Readable(int fd) {
  pollfd wait = {fd, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

TEST(InterruptTest, CtrlCIsNotedAndEndsNothing) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.happened());
  EXPECT_FALSE(Readable(interrupt.fd()));
  raise(SIGINT);
  EXPECT_TRUE(interrupt.happened());
  EXPECT_TRUE(Readable(interrupt.fd()));
  EXPECT_EQ(interrupt.exit_code(), ExitCode::kInterrupted);
}

TEST(InterruptTest, ATerminatedRunFailed) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.happened());
  raise(SIGTERM);
  EXPECT_EQ(interrupt.exit_code(), ExitCode::kRunFailed);
}

TEST(InterruptDeathTest, ASecondSignalEndsIt) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        raise(SIGINT);
        raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

// A read that never returns cannot be polled.
TEST(InterruptDeathTest, AStuckRunEndsToo) {
  for (const int number : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          const Interrupt interrupt(/*grace_s=*/1);
          raise(number);
          for (;;) pause();
        },
        ::testing::ExitedWithCode(number == SIGINT ? 130 : 2),
        "did not end by itself");
  }
}

TEST(InterruptTest, ARunThatEndsInTimeIsLeftAlone) {
  {
    const Interrupt interrupt(/*grace_s=*/1);
    raise(SIGTERM);
  }
  EXPECT_EQ(alarm(0), 0u) << "no alarm is left";
}

TEST(InjectedSlowdownTest, ReadsTheEnvironment) {
  unsetenv(kSlowdownVariable);
  EXPECT_FALSE(InjectedSlowdown().is_active());
  setenv(kSlowdownVariable, "3.5", 1);
  EXPECT_DOUBLE_EQ(InjectedSlowdown().percent(), 3.5);
  for (const char* odd : {"", "x", "-1", "nan", "inf"}) {
    setenv(kSlowdownVariable, odd, 1);
    EXPECT_FALSE(InjectedSlowdown().is_active()) << odd;
  }
  unsetenv(kSlowdownVariable);
}

TEST(InjectedSlowdownTest, BurnsAtLeastItsShare) {
  const auto start = std::chrono::steady_clock::now();
  InjectedSlowdown(50).Burn(0.02);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  EXPECT_GE(took.count(), 0.01);
}

}  // namespace
}  // namespace feedrate
