#include "lib/measure/subject.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

// The counters of one second of a quiet run on four processors.
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

  FoundNoise Judge(double elapsed_s = 1, bool single_thread = true) {
    NoiseWatch watch{NoisePolicy(), single_thread};
    return watch.Judge(before_, after_, elapsed_s);
  }

  NoiseCounters before_, after_;
};

TEST_F(NoiseTest, EveryDisturbanceHasItsWarningsAndCauses) {
  struct Case {
    std::function<void(NoiseCounters*)> disturb;
    Names warnings;
    Names causes;
  };
  const std::vector<Case> cases = {
      {[](NoiseCounters*) {}, {}, {}},
      {[](NoiseCounters* c) { *c->process.run_delay_s += 0.03; },
       {"contended"},
       {"load"}},
      {[](NoiseCounters* c) { *c->process.run_delay_s += 0.06; },
       {"contended", "noisy"},
       {"load"}},
      {[](NoiseCounters* c) { *c->processors.busy_s += 2.5; },
       {"contended"},
       {"load"}},
      {[](NoiseCounters* c) { *c->process.major_faults += 1; },
       {"noisy"},
       {"paging"}},
      {[](NoiseCounters* c) { *c->processors.steal_s += 0.3; },
       {"contended", "noisy"},
       {"steal"}},
      {[](NoiseCounters* c) { c->throttled_periods = 1; },
       {"throttled"},
       {"throttling"}},
      {[](NoiseCounters* c) {
         *c->processors.steal_s += 0.3;
         c->throttled_periods = 1;
         *c->process.run_delay_s += 0.03;
       },
       {"contended", "noisy", "throttled"},
       {"load", "steal", "throttling"}},
      {[](NoiseCounters* c) { *c->process.migrations += 4; }, {}, {}},
      {[](NoiseCounters* c) { *c->process.migrations += 5; }, {"migrated"}, {}},
  };
  const NoiseCounters quiet = after_;
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    after_ = quiet;
    cases[i].disturb(&after_);
    EXPECT_EQ(Judge().warnings, cases[i].warnings);
    EXPECT_EQ(Judge().causes, cases[i].causes);
  }
}

// Waking up a process that runs for microseconds takes longer than its run.
TEST_F(NoiseTest, ShortWaitsAreTheSchedulersOwn) {
  after_.now_s = 0.001;
  *after_.process.run_delay_s += 0.0002;
  EXPECT_THAT(Judge(1e-6).warnings, IsEmpty());
}

TEST_F(NoiseTest, MoreThanOneThread) {
  *after_.process.cpu_s += 0.2;
  *after_.cycles += 600000000;
  EXPECT_THAT(Judge().warnings, ElementsAre("multithreaded"));
  EXPECT_THAT(Judge(1, /*single_thread=*/false).warnings, IsEmpty());
}

// All four processors were busy with the loader's own processes.
TEST_F(NoiseTest, ALoaderDoesNotDisturbItself) {
  *after_.processors.busy_s += 2.9;
  NoiseWatch watch{NoisePolicy(), false};
  EXPECT_THAT(watch.JudgeLoader(before_, after_, 1, 3.9).warnings, IsEmpty());
  EXPECT_THAT(watch.JudgeLoader(before_, after_, 1, 0.5).causes,
              ElementsAre("load"));
}

TEST_F(NoiseTest, AClockBelowTheBestSeen) {
  NoiseWatch watch{NoisePolicy(), true};
  EXPECT_THAT(watch.Judge(before_, after_, 1).warnings, IsEmpty());
  *after_.cycles -= 400000000;
  EXPECT_THAT(watch.Judge(before_, after_, 1).warnings,
              ElementsAre("throttled"));
}

TEST_F(NoiseTest, NothingIsSaidWhereNothingIsKnown) {
  before_ = NoiseCounters();
  after_ = NoiseCounters();
  EXPECT_THAT(Judge().warnings, IsEmpty());
}

TEST_F(NoiseTest, ShortRunsAreNotJudgedByCoarseCounters) {
  *after_.processors.steal_s += 1;
  *after_.process.cpu_s += 5;
  EXPECT_THAT(Judge(0.01).warnings, IsEmpty());
}

}  // namespace
}  // namespace feedrate
