#include "lib/model/worker/train_spec.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace feedrate {
namespace {

TEST(TrainSpecTest, AScheduleEndsWithTheTraining) {
  const TrainSpec spec = ParseTrainSpec(
      {"schedule=cosine", "learning_rate=0.5", "learning_rate_min=0.1",
       "learning_rate_warmup=3", "warmup=5", "steps=20"});
  const LearningRateSchedule schedule = ScheduleOf(spec, 0, {});
  EXPECT_EQ(schedule.kind, "cosine");
  EXPECT_EQ(schedule.rate, 0.5);
  EXPECT_EQ(schedule.least, 0.1);
  EXPECT_EQ(schedule.warmup, 3);
  EXPECT_EQ(schedule.steps, 25);
  // Of a checkpoint that had none.
  EXPECT_EQ(ScheduleOf(spec, 100, {{"step", "100"}}).steps, 125);
}

// An interrupted training goes on with the schedule that it had, unless the
// caller names another.
TEST(TrainSpecTest, AScheduleIsThatOfTheCheckpoint) {
  TrainSpec spec = ParseTrainSpec({"schedule=cosine", "warmup=0", "steps=6"});
  EXPECT_EQ(ScheduleOf(spec, 4, {{kScheduleSteps, "30"}}).steps, 30);
  spec.schedule_steps = 50;
  EXPECT_EQ(ScheduleOf(spec, 4, {{kScheduleSteps, "30"}}).steps, 50);
  spec.schedule_steps = 0;
  for (const char* wrong : {"", "-1", "0", "many"}) {
    EXPECT_THROW(ScheduleOf(spec, 4, {{kScheduleSteps, wrong}}),
                 std::runtime_error);
  }
}

TEST(TrainSpecTest, SharesAreBelowOne) {
  for (const char* name :
       {"label_smoothing", "stochastic_depth", "ema_decay"}) {
    EXPECT_NO_THROW(ParseTrainSpec({std::string(name) + "=0.5"}));
    for (const char* value : {"1", "-0.1", "nan"}) {
      EXPECT_THROW(ParseTrainSpec({std::string(name) + "=" + value}),
                   std::runtime_error)
          << name << " " << value;
    }
  }
}

}  // namespace
}  // namespace feedrate
