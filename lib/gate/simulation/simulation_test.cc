#include "lib/gate/simulation/simulation.h"

#include "gtest/gtest.h"
#include "lib/base/xoshiro.h"

namespace feedrate {
namespace {

// The recommended baseline raised an alarm in 29 of 100 suites when executions
// differed by 3%. docs/compare_baseline.md has the whole table.
TEST(SimulateExecutionsTest, ExecutionsThatDifferRaiseNoAlarm) {
  constexpr int kSuites = 100;
  for (const ExecutionNoise noise :
       {ExecutionNoise::kNormal, ExecutionNoise::kHeavyTailed,
        ExecutionNoise::kTwoValued}) {
    for (const bool is_shared : {false, true}) {
      for (const int executions : {2, 3, 7}) {
        for (const int jobs : {1, 5}) {
          SimulatedExecutions design;
          design.noise = noise;
          design.is_shared = is_shared;
          design.deviation = 0.03;
          design.jobs = jobs;
          design.baseline_executions = executions;
          const ExecutionResult result = SimulateExecutions(design, kSuites);
          EXPECT_LE(result.suites_slower, 2)
              << static_cast<int>(noise) << " " << is_shared << " "
              << executions << " " << jobs;
        }
      }
    }
  }
}

TEST(SimulateExecutionsTest, EnoughExecutionsFindASlowdown) {
  SimulatedExecutions design;
  design.slowdown_percent = 10;
  design.baseline_executions = 7;
  const ExecutionResult found = SimulateExecutions(design, 50);
  EXPECT_GE(found.slower, 0.95 * static_cast<double>(found.jobs));
  design.baseline_executions = 3;
  const ExecutionResult few = SimulateExecutions(design, 50);
  EXPECT_EQ(few.slower, 0);
  EXPECT_EQ(few.cannot_tell, few.jobs) << "10% is not said to be the same";
}

TEST(Xoshiro256Test, TheSameEverywhere) {
  Xoshiro256 a(7);
  Xoshiro256 b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Bits(), b.Bits());
  EXPECT_NE(Xoshiro256(8).Bits(), Xoshiro256(7).Bits());
}

TEST(Xoshiro256Test, MomentsAreRight) {
  Xoshiro256 random(1);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0, uniform = 0, exponential = 0;
  int heads = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    uniform += random.Uniform();
    exponential += random.Exponential();
    heads += random.Coin();
    EXPECT_LT(random.Below(3), 3);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(fourth / kCount, 3, 0.15);
  EXPECT_NEAR(uniform / kCount, 0.5, 0.005);
  EXPECT_NEAR(exponential / kCount, 1, 0.02);
  EXPECT_NEAR(heads, kCount / 2, 1500);
}

// Like //lib/gate/simulation:simulate, but with a few thousand jobs instead of
// five million.
SimulationResult Small(NoiseFamily family, double slowdown, int64_t suites) {
  SimulatedSuites s;
  s.noise.family = family;
  s.slowdown_percent = slowdown;
  s.suites = suites;
  s.rows = 500;
  return Simulate(s);
}

TEST(SimulationTest, CleanSuitesAreQuiet) {
  for (const NoiseFamily family : kNoiseFamilies) {
    const SimulationResult r = Small(family, 0, 4);
    EXPECT_EQ(r.rows, 2000);
    // 0.02 are expected.
    EXPECT_LE(r.suites_slower, 1) << NoiseFamilyName(family);
    EXPECT_EQ(r.rows, r.same + r.faster + r.slower + r.cannot_tell);
  }
}

TEST(SimulationTest, SeesTwoAndThreePercentInLogNormalNoise) {
  const SimulationResult two = Small(NoiseFamily::kLogNormal, 2, 2);
  EXPECT_GE(two.slower, 0.93 * two.rows);
  const SimulationResult three = Small(NoiseFamily::kLogNormal, 3, 2);
  EXPECT_GE(three.slower, 0.985 * three.rows);
  EXPECT_EQ(three.faster, 0);
}

TEST(SimulationTest, SlowdownsAreNeverCalledFaster) {
  for (const NoiseFamily family : kNoiseFamilies) {
    const SimulationResult r = Small(family, 5, 1);
    EXPECT_EQ(r.faster, 0) << NoiseFamilyName(family);
    EXPECT_LE(r.same, 0.01 * r.rows) << NoiseFamilyName(family);
  }
}

TEST(MetricSimulationTest, CleanSuitesAreQuietAboutAllMetrics) {
  for (const NoiseFamily family : kNoiseFamilies) {
    SimulatedSuites s;
    s.noise.family = family;
    s.suites = 4;
    SimulatedMetrics metrics;
    metrics.metrics = kMetricKinds;
    const MetricSimulationResult r = SimulateMetrics(s, metrics);
    EXPECT_EQ(r.time.rows, 2000);
    // 0.04 are expected at most.
    EXPECT_LE(r.suites_changed, 1) << NoiseFamilyName(family);
  }
}

TEST(MetricSimulationTest, FindsTimeAndMemory) {
  SimulatedSuites s;
  s.suites = 2;
  s.slowdown_percent = 3;
  SimulatedMetrics metrics;
  metrics.memory_percent = 10;
  const MetricSimulationResult r = SimulateMetrics(s, metrics);
  EXPECT_GE(r.time.slower, 0.985 * r.time.rows);
  EXPECT_GE(r.worse[0], 0.985 * r.time.rows);
  EXPECT_EQ(r.better[0], 0);
  EXPECT_EQ(r.worse[1] + r.better[1], 0);
}

// Stopping early costs less and decides as much.
TEST(SimulationTest, StoppingEarlySavesPairs) {
  SimulatedSuites s;
  s.suites = 1;
  for (const double slowdown : {0.0, 5.0}) {
    s.slowdown_percent = slowdown;
    s.stops_early = false;
    const SimulationResult fixed = Simulate(s);
    s.stops_early = true;
    const SimulationResult early = Simulate(s);
    EXPECT_EQ(fixed.pairs, 30 * fixed.rows);
    EXPECT_LE(early.pairs, (slowdown == 0 ? 12.5 : 19.5) * early.rows);
    EXPECT_LE(early.cannot_tell, 0.01 * early.rows);
  }
}

TEST(SimulationTest, TheSameForAnyNumberOfThreads) {
  SimulatedSuites s;
  s.suites = 4;
  s.rows = 50;
  const SimulationResult one = Simulate(s);
  s.threads = 3;
  const SimulationResult three = Simulate(s);
  EXPECT_EQ(one.pairs, three.pairs);
  EXPECT_EQ(one.same, three.same);
}

}  // namespace
}  // namespace feedrate
