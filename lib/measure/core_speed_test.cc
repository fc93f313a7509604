#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A machine that is disturbed in the first `busy_` looks. A look takes 0.1 s.
class QuietWaitTest : public testing::Test {
 protected:
  QuietWait::Options Options() {
    QuietWait::Options options;
    options.look = [this]() -> std::vector<std::string> {
      now_s_ += 0.1;
      if (looks_++ < busy_) return {"load"};
      return {};
    };
    options.budget_s = [this] { return budget_s_; };
    options.now_s = [this] { return now_s_; };
    options.interrupted = [this] { return interrupted_; };
    return options;
  }

  int looks_ = 0;
  int busy_ = 0;
  double now_s_ = 5;
  double budget_s_ = 1.01;
  bool interrupted_ = false;
};

TEST_F(QuietWaitTest, AQuietMachineIsLookedAtOnce) {
  QuietWait wait(Options());
  EXPECT_NEAR(wait.Wait(), 0.1, 1e-9);
  EXPECT_TRUE(wait.quiet());
  EXPECT_EQ(wait.Wait(), 0);
  EXPECT_EQ(looks_, 1);
  wait.Doubt();
  EXPECT_FALSE(wait.quiet());
  wait.Wait();
  EXPECT_EQ(looks_, 2);
  EXPECT_NEAR(wait.waited_s(), 0.2, 1e-9);
}

TEST_F(QuietWaitTest, WaitsUntilTheOthersAreDone) {
  busy_ = 4;
  QuietWait wait(Options());
  EXPECT_NEAR(wait.Wait(), 0.5, 1e-9);
  EXPECT_TRUE(wait.quiet());
  EXPECT_THAT(wait.causes(), IsEmpty());
}

TEST_F(QuietWaitTest, TheBudgetIsForAllWaits) {
  busy_ = 1000;
  QuietWait wait(Options());
  EXPECT_THAT(wait.causes(), IsEmpty());
  EXPECT_NEAR(wait.Wait(), 1, 1e-9);
  EXPECT_FALSE(wait.quiet());
  EXPECT_THAT(wait.causes(), ElementsAre("load"));
  EXPECT_EQ(wait.Wait(), 0);
  EXPECT_EQ(looks_, 10);
  // It may grow.
  budget_s_ = 1.31;
  EXPECT_NEAR(wait.Wait(), 0.3, 1e-9);
}

TEST_F(QuietWaitTest, NoBudgetAndCtrlCMeanNoLook) {
  budget_s_ = 0;
  QuietWait wait(Options());
  EXPECT_EQ(wait.Wait(), 0);
  EXPECT_FALSE(wait.quiet());
  budget_s_ = 9;
  interrupted_ = true;
  EXPECT_EQ(wait.Wait(), 0);
  EXPECT_EQ(looks_, 0);
}

TEST_F(QuietWaitTest, StepsSpendTheSameBudget) {
  QuietWait wait(Options());
  int steps = 0;
  const auto step = [&] {
    now_s_ += 0.5;
    ++steps;
  };
  EXPECT_TRUE(wait.Spend(step));
  EXPECT_TRUE(wait.Spend(step));
  EXPECT_NEAR(wait.waited_s(), 1, 1e-9);
  EXPECT_EQ(wait.Wait(), 0);
  budget_s_ = 0.9;
  EXPECT_FALSE(wait.Spend(step));
  budget_s_ = 9;
  interrupted_ = true;
  EXPECT_FALSE(wait.Spend(step));
  EXPECT_EQ(steps, 2);
}

// A watch that has seen a probe of 5 at a clock whose chain takes 1 s.
class SpeedWatchTest : public QuietWaitTest {
 protected:
  SpeedWatchTest() : wait_(Options()), speed_(0.1, &wait_) {
    TimeReply seen;
    AddProbe(0, 5, 1, &seen);
    speed_.Note("opencv", seen);
  }
  static void AddProbe(int at, double probe_s, double chain_s,
                       TimeReply* timing) {
    timing->add_probes_at(at);
    timing->add_probes_s(probe_s);
    timing->add_chains_s(chain_s);
  }

  QuietWait wait_;
  SpeedWatch speed_;
};

TEST_F(SpeedWatchTest, TheLargerOfTheTwoNeighborsCounts) {
  TimeReply timing;
  for (int i = 0; i < 4; ++i) timing.add_samples_s(1);
  EXPECT_THAT(speed_.Around("opencv", timing), IsEmpty());
  AddProbe(1, 5, 1, &timing);
  EXPECT_THAT(speed_.Around("opencv", timing), ElementsAre(5, 5, 5, 5));
  AddProbe(3, 7, 1, &timing);
  EXPECT_THAT(speed_.Around("opencv", timing), ElementsAre(5, 7, 7, 7));
  AddProbe(4, 6, 1, &timing);
  EXPECT_THAT(speed_.Around("opencv", timing), ElementsAre(5, 7, 7, 7));
  EXPECT_THAT(speed_.Around("pillow", timing), IsEmpty());
}

TEST_F(SpeedWatchTest, ASlowerClockIsNoSlowCore) {
  TimeReply timing;
  timing.add_samples_s(1);
  AddProbe(0, 6, 1.2, &timing);
  EXPECT_THAT(speed_.Around("opencv", timing), ElementsAre(5));
}

// Else one interrupt would make all later probes slow.
TEST_F(SpeedWatchTest, AnInterruptedLoopIsNoRecord) {
  TimeReply timing;
  timing.add_samples_s(1);
  AddProbe(0, 5, 2, &timing);
  speed_.Note("opencv", timing);
  EXPECT_DOUBLE_EQ(speed_.SlowAbove("opencv"), 5.5);
  EXPECT_GT(speed_.Around("opencv", timing)[0], 5.5);
}

// Caches that the measured calls have emptied make a chain longer now and then.
TEST_F(SpeedWatchTest, ALongerChainMakesNoOtherProbeSlow) {
  TimeReply timing;
  timing.add_samples_s(1);
  AddProbe(0, 5, 1.25, &timing);
  speed_.Note("opencv", timing);
  EXPECT_DOUBLE_EQ(speed_.SlowAbove("opencv"), 5.5);
}

// A core that is at half of its speed from call `slow_from_` to `slow_until_`,
// probed around each call. A call takes 1 ms at full speed.
class SlowCoreTest : public QuietWaitTest, public Subject {
 protected:
  SlowCoreTest() { budget_s_ = 1; }

  absl::StatusOr<TimeReply> Time(const TimeRequest& request) override {
    requests_.push_back(request);
    TimeReply timing;
    timing.set_items(request.count);
    for (int64_t done = 0; done < request.count; done += request.chunk) {
      AddProbe(&timing);
      const double sample_s = IsSlow() ? 0.002 : 0.001;
      ++calls_;
      now_s_ += sample_s;
      timing.add_samples_s(sample_s);
    }
    AddProbe(&timing);
    return timing;
  }
  NoiseCounters Count() override {
    NoiseCounters counters;
    counters.process.cpu_s = 0.001 * static_cast<double>(calls_);
    return counters;
  }
  double clock_pair_s() const override { return 0; }

  RunResult Measure(int64_t num_items) {
    RunRequest request;
    request.num_items = num_items;
    request.per_call_s = 0.001;
    request.seed = 40;
    request.worker = "opencv";
    QuietWait wait(Options());
    SpeedWatch speed(0.15, &wait);
    NoiseWatch noise{NoisePolicy(), true};
    const auto result = MeasureRun(request, this, &noise, &speed);
    EXPECT_TRUE(result.ok()) << result.status();
    return *result;
  }

  bool IsSlow() const { return calls_ >= slow_from_ && calls_ < slow_until_; }
  void AddProbe(TimeReply* timing) {
    timing->add_probes_at(timing->samples_s_size());
    timing->add_probes_s(IsSlow() ? 20e-6 : 10e-6);
    timing->add_chains_s(5e-6);
  }

  int64_t calls_ = 0;
  int64_t slow_from_ = 0;
  int64_t slow_until_ = 0;
  std::vector<TimeRequest> requests_;
};

TEST_F(SlowCoreTest, SamplesOfASlowCoreAreTakenAgain) {
  slow_from_ = 4;
  slow_until_ = 6;
  const RunResult result = Measure(10);
  for (const double sample_s : result.timing.samples_s()) {
    EXPECT_DOUBLE_EQ(sample_s, 0.001);
  }
  EXPECT_DOUBLE_EQ(result.elapsed_s, 0.01);
  ASSERT_EQ(requests_.size(), 2);
  // Samples 3 to 5 lie next to a slow probe; sample 2 warms the caches.
  EXPECT_EQ(requests_[1].first, 2);
  EXPECT_EQ(requests_[1].count, 4);
  EXPECT_NE(requests_[1].seed, 40);
  ASSERT_TRUE(result.core_speed.has_value());
  EXPECT_EQ(result.core_speed->repeated_samples(), 3);
  // The ten calls of the pass, not the four that followed.
  EXPECT_DOUBLE_EQ(*result.cpu_s, 0.01);
  EXPECT_EQ(result.core_speed->slow_share(), 0);
  EXPECT_DOUBLE_EQ(result.core_speed->probe(), 2);
  EXPECT_DOUBLE_EQ(result.core_speed->slow_above(), 2.3);
  EXPECT_DOUBLE_EQ(result.core_speed->chain_s(), 5e-6);
  EXPECT_THAT(result.noise.warnings, IsEmpty());
}

TEST_F(SlowCoreTest, ALongPassIsRepeatedInParts) {
  slow_from_ = 20;
  slow_until_ = 100;
  const RunResult result = Measure(100);
  EXPECT_NEAR(result.elapsed_s, 0.1, 1e-9);
  // 81 samples of 2 ms, about ten in each repetition.
  EXPECT_GE(requests_.size(), 1 + 8);
  for (size_t i = 1; i < requests_.size(); ++i) {
    EXPECT_LE(requests_[i].count, 12);
  }
}

TEST_F(SlowCoreTest, WhenTheBudgetIsSpentTheRowSaysSo) {
  slow_from_ = 5;
  slow_until_ = 1000000;
  const RunResult result = Measure(10);
  EXPECT_DOUBLE_EQ(result.elapsed_s, 0.015);
  EXPECT_THAT(result.noise.warnings, ElementsAre("contended"));
  EXPECT_THAT(result.noise.causes, ElementsAre("slow_core"));
  // Samples 4 to 9: 1 ms and five times 2 ms.
  EXPECT_DOUBLE_EQ(result.core_speed->slow_share(), 11.0 / 15);
  EXPECT_EQ(result.core_speed->repeated_samples(), 0);
}

TEST_F(SlowCoreTest, WithoutABudgetNothingIsRepeated) {
  budget_s_ = 0;
  slow_from_ = 5;
  slow_until_ = 7;
  Measure(10);
  EXPECT_EQ(requests_.size(), 1);
}

}  // namespace
}  // namespace feedrate
