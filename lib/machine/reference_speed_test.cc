#include "lib/machine/reference_speed.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(ReferenceSpeedTest, MeasuresEachWorkloadInEachRound) {
  ReferenceOptions options;
  options.rounds = 3;
  options.seconds = 0.001;
  options.folder = testing::TempDir();
  const std::vector<ReferenceSpeed> speeds = MeasureReferenceSpeeds(options);
  ASSERT_EQ(speeds.size(), 4);
  const char* const names[] = {"cpu", "simd", "memory", "disk"};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(speeds[i].workload, names[i]);
    ASSERT_EQ(speeds[i].per_s.size(), 3);
    for (const double speed : speeds[i].per_s) EXPECT_GT(speed, 0);
  }
}

TEST(ReferenceSpeedTest, WithoutADiskTheOthersRemain) {
  ReferenceOptions options;
  options.rounds = 1;
  options.seconds = 0.001;
  options.folder = "/proc/nowhere";
  EXPECT_EQ(MeasureReferenceSpeeds(options).size(), 3);
}

}  // namespace
}  // namespace feedrate
