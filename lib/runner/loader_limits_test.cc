#include "lib/runner/loader_limits.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

TEST(LoaderLimitsTest, AnEngineIsKnownToOthersOfTheSameFilesAndSessions) {
  LoaderLimits limits(nullptr);
  EXPECT_EQ(limits.Engine(7, 1), 0);
  limits.NoteEngine(7, 1, 90);
  limits.NoteEngine(7, 8, 500);
  EXPECT_EQ(limits.Engine(7, 1), 90);
  EXPECT_EQ(limits.Engine(7, 8), 500);
  EXPECT_EQ(limits.Engine(8, 1), 0);
  EXPECT_EQ(limits.Engine(7, 2), 0);
}

TEST(LoaderLimitsTest, ADecoderThatMeasuresNothingForgetsNothing) {
  LoaderLimits limits(nullptr);
  limits.NoteEngine(7, 1, 90);
  limits.NoteEngine(7, 1, 0);
  EXPECT_EQ(limits.Engine(7, 1), 90);
}

TEST(LoaderLimitsTest, ADeviceIsMeasuredOnceAndAFailureIsTriedAgain) {
  LoaderLimits limits(nullptr);
  int calls = 0;
  const auto fails = [&]() -> absl::StatusOr<DeviceLimits> {
    ++calls;
    return absl::UnknownError("busy");
  };
  const auto works = [&]() -> absl::StatusOr<DeviceLimits> {
    ++calls;
    DeviceLimits measured;
    measured.copy_bytes_per_s = 5;
    return measured;
  };
  EXPECT_FALSE(limits.OfDevice("a", fails).ok());
  ASSERT_TRUE(limits.OfDevice("a", works).ok());
  EXPECT_EQ(limits.OfDevice("a", fails)->copy_bytes_per_s, 5);
  EXPECT_EQ(calls, 2);
}

TEST(LoaderLimitsTest, TheFastestCopyIsForPeers) {
  LoaderLimits limits(nullptr);
  EXPECT_EQ(limits.CopyBytesPerSecond(), 0);
  for (const double speed : {7.0, 5.0}) {
    ASSERT_TRUE(limits
                    .OfDevice(absl::StrCat(speed),
                              [&]() -> absl::StatusOr<DeviceLimits> {
                                DeviceLimits measured;
                                measured.copy_bytes_per_s = speed;
                                return measured;
                              })
                    .ok());
  }
  EXPECT_EQ(limits.CopyBytesPerSecond(), 7);
}

}  // namespace
}  // namespace feedrate
