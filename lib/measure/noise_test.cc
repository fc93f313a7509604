#include "lib/measure/noise.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/measure/subject.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One second of a quiet run on four processors.
class NoiseTest : public testing::Test {
 protected:
  NoiseTest() {
    before_.process.cpu_s = 5.0;
    before_.process.run_delay_s = 1.0;
    before_.process.migrations = 3;
    before_.process.major_faults = 2;
    before_.processors.processors = 4;
    before_.processors.steal_s = 10.0;
    before_.processors.busy_s = 100.0;
    before_.cycles = 1000;
    after_ = before_;
    after_.now_s = 1;
    *after_.process.cpu_s += 1;
    *after_.processors.busy_s += 1;
    *after_.cycles += 3000000000;
  }

  std::vector<std::string> Judge(double elapsed_s = 1,
                                 bool single_thread = true) {
    NoiseWatch watch{NoisePolicy(), single_thread};
    return watch.Judge(before_, after_, elapsed_s);
  }

  NoiseCounters before_, after_;
};

TEST_F(NoiseTest, AQuietRunHasNoWarning) { EXPECT_THAT(Judge(), IsEmpty()); }

TEST_F(NoiseTest, WaitingForAProcessor) {
  *after_.process.run_delay_s += 0.03;
  EXPECT_THAT(Judge(), ElementsAre("contended"));
  *after_.process.run_delay_s += 0.03;
  EXPECT_THAT(Judge(), ElementsAre("contended", "noisy"));
}

// Waking up a process that runs for microseconds takes longer than its run.
TEST_F(NoiseTest, ShortWaitsAreTheSchedulersOwn) {
  after_.now_s = 0.001;
  *after_.process.run_delay_s += 0.0002;
  EXPECT_THAT(Judge(1e-6), IsEmpty());
}

TEST_F(NoiseTest, StealTime) {
  *after_.processors.steal_s += 0.3;
  EXPECT_THAT(Judge(), ElementsAre("contended", "noisy"));
}

TEST_F(NoiseTest, LoadOfOthers) {
  *after_.processors.busy_s += 2.5;
  EXPECT_THAT(Judge(), ElementsAre("contended"));
}

TEST_F(NoiseTest, MovesBetweenProcessors) {
  *after_.process.migrations += 4;
  EXPECT_THAT(Judge(), IsEmpty());
  *after_.process.migrations += 1;
  EXPECT_THAT(Judge(), ElementsAre("migrated"));
}

TEST_F(NoiseTest, MoreThanOneThread) {
  *after_.process.cpu_s += 0.2;
  *after_.cycles += 600000000;
  EXPECT_THAT(Judge(), ElementsAre("multithreaded"));
  EXPECT_THAT(Judge(1, /*single_thread=*/false), IsEmpty());
}

TEST_F(NoiseTest, FaultsThatNeedTheDisk) {
  *after_.process.major_faults += 1;
  EXPECT_THAT(Judge(), ElementsAre("noisy"));
}

TEST_F(NoiseTest, AClockBelowTheBestSeen) {
  NoiseWatch watch{NoisePolicy(), true};
  EXPECT_THAT(watch.Judge(before_, after_, 1), IsEmpty());
  *after_.cycles -= 400000000;
  EXPECT_THAT(watch.Judge(before_, after_, 1), ElementsAre("throttled"));
}

TEST_F(NoiseTest, AQuotaThatStoppedTheGroup) {
  after_.throttled_periods = 1;
  EXPECT_THAT(Judge(), ElementsAre("throttled"));
}

TEST_F(NoiseTest, NothingIsSaidWhereNothingIsKnown) {
  before_ = NoiseCounters();
  after_ = NoiseCounters();
  EXPECT_THAT(Judge(), IsEmpty());
}

TEST_F(NoiseTest, ShortRunsAreNotJudgedByCoarseCounters) {
  *after_.processors.steal_s += 1;
  *after_.process.cpu_s += 5;
  EXPECT_THAT(Judge(0.01), IsEmpty());
}

}  // namespace
}  // namespace feedrate
