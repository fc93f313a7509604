#include "lib/planning/emit/simulate.h"

#include <cmath>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

constexpr double kHour = 3600;

// `machines` at once, 100 s of set-up, 36 in money per hour: 0.01 per second.
Quota QuotaOf(int machines) {
  Quota quota;
  quota.set_name("test");
  quota.set_setup_s(100);
  MachineType* const type = quota.add_machine_types();
  type->set_name("m");
  type->set_family("m");
  type->set_vcpus(2);
  type->set_price_per_hour(36);
  QuotaLimit* const limit = quota.add_limits();
  limit->set_resource("machines");
  limit->set_amount(machines);
  return quota;
}

struct Work {
  Campaign campaign;
  std::vector<WaveTask> tasks;

  void Add(double cost_s, int64_t jobs, int wave = 1) {
    CampaignTask task;
    task.wave = wave;
    campaign.tasks.push_back(task);
    WaveTask machine;
    machine.set_machine_type("m");
    machine.set_cost_s(cost_s);
    machine.set_jobs(jobs);
    tasks.push_back(machine);
  }

  Simulation Run(int machines, const SimulationOptions& options = {}) const {
    return Simulate(campaign, tasks, QuotaOf(machines), options);
  }
};

TEST(SimulateTest, OneMachineDoesOneTaskAfterTheOther) {
  Work work;
  for (int i = 0; i < 5; ++i) work.Add(900, 9);
  const Simulation result = work.Run(1);
  EXPECT_DOUBLE_EQ(result.makespan_s, 5 * 1000);
  EXPECT_DOUBLE_EQ(result.utilization(), 0.9);
  EXPECT_DOUBLE_EQ(result.price, 50);
  EXPECT_EQ(result.machines, 1);
  EXPECT_EQ(result.failures, 0);
  EXPECT_DOUBLE_EQ(result.lost_s, 0);
}

TEST(SimulateTest, MachinesShareTheQueue) {
  Work work;
  for (int i = 0; i < 9; ++i) work.Add(900, 9);
  EXPECT_DOUBLE_EQ(work.Run(4).makespan_s, 3 * 1000);
  EXPECT_DOUBLE_EQ(work.Run(100).makespan_s, 1000);
  EXPECT_EQ(work.Run(100).machines, 9);
}

TEST(SimulateTest, WavesWaitForTheirLastTask) {
  Work work;
  work.Add(900, 9, 1);
  work.Add(100, 1, 1);
  work.Add(400, 4, 2);
  work.Add(400, 4, 2);
  SimulationOptions options;
  EXPECT_DOUBLE_EQ(work.Run(2, options).makespan_s, 1200);
  options.in_waves = true;
  EXPECT_DOUBLE_EQ(work.Run(2, options).makespan_s, 1500);
}

TEST(SimulateTest, AllTimeOfMachinesIsAccountedFor) {
  Work work;
  for (int i = 0; i < 200; ++i) work.Add(1800, 30);
  SimulationOptions options;
  options.failures_per_hour = 1;
  const Simulation result = work.Run(10, options);
  EXPECT_GT(result.failures, 50);
  EXPECT_NEAR(result.machine_s,
              result.work_s + result.setup_s + result.lost_s + result.dead_s,
              1e-6 * result.machine_s);
  // Whatever fails, all the work is done, and once.
  EXPECT_NEAR(result.work_s, 200 * 1800, 1e-6);
}

TEST(SimulateTest, FailuresComeAtTheirRate) {
  Work work;
  for (int i = 0; i < 2000; ++i) work.Add(900, 90);
  SimulationOptions options;
  options.failures_per_hour = 0.2;
  options.detect_s = 0;
  const Simulation result = work.Run(50, options);
  const double expected = 0.2 * result.machine_s / kHour;
  EXPECT_NEAR(result.failures, expected, 4 * std::sqrt(expected));
  // At most a copy's interval and a job go with a machine, and half of the
  // interval on average.
  EXPECT_LT(result.lost_s, result.failures * (60.0 + 10));
  EXPECT_GT(result.lost_s, result.failures * 60 * 0.25);
}

TEST(SimulateTest, MoreFailuresTakeLonger) {
  Work work;
  for (int i = 0; i < 500; ++i) work.Add(3600, 100);
  double last = 0;
  for (const double rate : {0.0, 0.05, 0.5, 2.0}) {
    SimulationOptions options;
    options.failures_per_hour = rate;
    const double makespan_s = work.Run(20, options).makespan_s;
    EXPECT_GT(makespan_s, last);
    last = makespan_s;
  }
}

TEST(SimulateTest, SameSeedGivesTheSameAnswer) {
  Work work;
  for (int i = 0; i < 100; ++i) work.Add(3600, 100);
  SimulationOptions options;
  options.failures_per_hour = 1;
  EXPECT_EQ(work.Run(10, options).makespan_s, work.Run(10, options).makespan_s);
  SimulationOptions other = options;
  other.seed = 2;
  EXPECT_NE(work.Run(10, options).makespan_s, work.Run(10, other).makespan_s);
}

}  // namespace
}  // namespace feedrate
