#include "lib/loader/cuda/launch_plan.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/cuda/batch_queue.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(LaunchPlanTest, AlonePiecesAreOneLaunch) {
  BatchQueue queue(10, 10, 1);
  queue.Take(4);
  const std::vector<LaunchPlan> plans = LaunchesOf(*queue.Take(3));
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].at, 4);
  EXPECT_EQ(plans[0].count, 3);
  EXPECT_THAT(plans[0].samples, ElementsAre(0, 1, 2));
}

TEST(LaunchPlanTest, EachHalfKnowsTheOther) {
  BatchQueue queue(10, 10, 1, /*paired=*/true);
  queue.Take(4);
  // Samples 2, 3 and 6, 7.
  const std::vector<LaunchPlan> plans = LaunchesOf(*queue.Take(4));
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].at, 2);
  EXPECT_EQ(plans[0].count, 2);
  EXPECT_THAT(plans[0].samples, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(plans[0].partners, ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(plans[1].at, 6);
  EXPECT_EQ(plans[1].count, 2);
  EXPECT_THAT(plans[1].samples, ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(plans[1].partners, ElementsAre(3, 2, 1, 0));
}

TEST(LaunchPlanTest, TheMiddleIsAlone) {
  BatchQueue queue(3, 8, 1, /*paired=*/true);
  // Samples 0, 1 and 2.
  std::vector<LaunchPlan> plans = LaunchesOf(*queue.Take(8));
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_THAT(plans[0].partners, ElementsAre(2, -1, 0));
  EXPECT_THAT(plans[1].samples, ElementsAre(2, 0, 1));
  EXPECT_THAT(plans[1].partners, ElementsAre(1, 0, -1));
  BatchQueue one(1, 8, 1, /*paired=*/true);
  plans = LaunchesOf(*one.Take(8));
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_THAT(plans[0].partners, ElementsAre(-1));
}

}  // namespace
}  // namespace feedrate
