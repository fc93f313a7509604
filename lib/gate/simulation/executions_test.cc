#include "lib/gate/simulation/executions.h"

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace feedrate
