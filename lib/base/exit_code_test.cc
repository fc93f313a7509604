#include "lib/base/exit_code.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

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

}  // namespace
}  // namespace feedrate
