#include "lib/model/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace feedrate {
namespace {

LearningRateSchedule Cosine() {
  LearningRateSchedule schedule;
  schedule.kind = "cosine";
  schedule.rate = 0.8;
  schedule.least = 0.2;
  schedule.warmup = 4;
  schedule.steps = 12;
  return schedule;
}

TEST(ScheduleTest, WarmUpRisesByEqualSteps) {
  for (const std::string& kind : ScheduleKinds()) {
    LearningRateSchedule schedule = Cosine();
    schedule.kind = kind;
    const double expected[] = {0.2, 0.4, 0.6, 0.8};
    for (int step = 0; step < 4; ++step) {
      EXPECT_NEAR(LearningRateAt(schedule, step), expected[step], 1e-15);
    }
    // The first step after it has the whole rate too.
    EXPECT_EQ(LearningRateAt(schedule, 4), 0.8) << kind;
  }
}

TEST(ScheduleTest, CosineFallsToTheLeast) {
  const LearningRateSchedule schedule = Cosine();
  EXPECT_NEAR(LearningRateAt(schedule, 6), 0.5 + 0.3 * std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(LearningRateAt(schedule, 8), 0.5, 1e-15);
  EXPECT_NEAR(LearningRateAt(schedule, 10), 0.5 - 0.3 * std::sqrt(0.5), 1e-15);
  for (const int step : {12, 13, 1000}) {
    EXPECT_EQ(LearningRateAt(schedule, step), 0.2);
  }
}

TEST(ScheduleTest, LinearFallsByEqualSteps) {
  LearningRateSchedule schedule = Cosine();
  schedule.kind = "linear";
  EXPECT_NEAR(LearningRateAt(schedule, 6), 0.65, 1e-15);
  EXPECT_NEAR(LearningRateAt(schedule, 11), 0.275, 1e-15);
  EXPECT_EQ(LearningRateAt(schedule, 12), 0.2);
}

TEST(ScheduleTest, ConstantStays) {
  LearningRateSchedule schedule = Cosine();
  schedule.kind = "constant";
  EXPECT_EQ(LearningRateAt(schedule, 1000), 0.8);
}

TEST(ScheduleTest, AWarmUpOfAllStepsNeverFalls) {
  LearningRateSchedule schedule = Cosine();
  schedule.steps = 4;
  EXPECT_EQ(LearningRateAt(schedule, 3), 0.8);
  EXPECT_EQ(LearningRateAt(schedule, 4), 0.2);
}

// As torch 2.11 has it: SequentialLR of LinearLR(start_factor=1/4,
// total_iters=3) and CosineAnnealingLR(T_max=8, eta_min=1e-5), milestone 4.
TEST(ScheduleTest, IsThatOfTorch) {
  LearningRateSchedule schedule;
  schedule.kind = "cosine";
  schedule.rate = 1e-3;
  schedule.least = 1e-5;
  schedule.warmup = 4;
  schedule.steps = 12;
  const double expected[] = {2.5e-4,
                             5e-4,
                             7.5e-4,
                             1e-3,
                             1e-3,
                             9.6232036859308695e-4,
                             8.5501785668734098e-4,
                             6.9442829902071951e-4,
                             5.05e-4,
                             3.1557170097928059e-4,
                             1.5498214331265898e-4,
                             4.7679631406913064e-5,
                             1e-5};
  for (int step = 0; step < 13; ++step) {
    EXPECT_NEAR(LearningRateAt(schedule, step), expected[step], 1e-17);
  }
}

}  // namespace
}  // namespace feedrate
