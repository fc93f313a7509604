#include "lib/gate/simulation.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

// A few hundred jobs of what lib/gate/simulate does with five million.
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
