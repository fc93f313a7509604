#include "lib/stats/elsewhere.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/xoshiro.h"

namespace feedrate {
namespace {

// Machines, their jobs, and what they differ by, as standard deviations of
// logarithms.
struct MachineKind {
  int executions = 8;
  int jobs = 200;
  double shared = 0;
  double own = 0;
  // Own noise differs from job to job by up to this factor, either way.
  double spread = 1;
  bool has_machines = true;
};

ExecutionOfJobs Execute(const MachineKind& kind, int number,
                        Xoshiro256* random) {
  ExecutionOfJobs execution;
  if (kind.has_machines) execution.machine = absl::StrCat(number);
  execution.day = "2026-11-19";
  const double shared = kind.shared * random->Normal();
  for (int job = 0; job < kind.jobs; ++job) {
    const double own =
        kind.own * std::pow(kind.spread, 2.0 * job / kind.jobs - 1);
    execution.medians.push_back(
        std::exp(job % 7 + shared + own * random->Normal()));
  }
  return execution;
}

// The share of medians of another execution that lie in their intervals.
double ShareInside(const MachineKind& kind, int rounds) {
  Xoshiro256 random(7);
  int64_t inside = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<ExecutionOfJobs> executions;
    for (int i = 0; i < kind.executions; ++i) {
      executions.push_back(Execute(kind, i, &random));
    }
    const Elsewhere found = *FindElsewhere(executions);
    const ExecutionOfJobs next = Execute(kind, kind.executions, &random);
    for (int job = 0; job < kind.jobs; ++job) {
      const Interval& interval = *found.intervals[job];
      inside += interval.low <= next.medians[job] &&
                next.medians[job] <= interval.high;
    }
  }
  return static_cast<double>(inside) / (rounds * kind.jobs);
}

TEST(ElsewhereTest, HoldsWhatItSays) {
  for (const int executions : {3, 4, 8}) {
    MachineKind kind;
    kind.executions = executions;
    kind.own = 0.02;
    EXPECT_NEAR(ShareInside(kind, 300), 0.95, 0.015) << executions << " own";
    kind.spread = 5;
    EXPECT_NEAR(ShareInside(kind, 300), 0.95, 0.015) << executions << " spread";
    kind.shared = 0.05;
    EXPECT_NEAR(ShareInside(kind, 400), 0.95, 0.03) << executions << " both";
    kind.own = 0.001;
    EXPECT_NEAR(ShareInside(kind, 400), 0.95, 0.03) << executions << " shared";
    kind = {executions, 1, 0, 0.02};
    EXPECT_NEAR(ShareInside(kind, 5000), 0.95, 0.015)
        << executions << " one job";
    kind.jobs = 20;
    kind.shared = 0.02;
    EXPECT_NEAR(ShareInside(kind, 400), 0.95, 0.03) << executions << " 20 jobs";
  }
}

TEST(ElsewhereTest, SpeaksOfWhatComesThreeTimes) {
  Xoshiro256 random(1);
  MachineKind kind;
  kind.own = 0.01;
  std::vector<ExecutionOfJobs> executions;
  for (int i = 0; i < 2; ++i) {
    executions.push_back(Execute(kind, i, &random));
  }
  EXPECT_FALSE(FindElsewhere(executions).has_value());
  executions.push_back(Execute(kind, 2, &random));
  EXPECT_EQ(FindElsewhere(executions)->what, Repeated::kMachines);
  executions[2].machine = executions[1].machine;
  EXPECT_EQ(FindElsewhere(executions)->what, Repeated::kExecutions);
  executions[0].day = "2026-11-17";
  executions[1].day = "2026-11-18";
  EXPECT_EQ(FindElsewhere(executions)->what, Repeated::kDays);
  // Whoever does not know where some rows are from speaks of less.
  executions[0].day = "";
  EXPECT_EQ(FindElsewhere(executions)->what, Repeated::kExecutions);
}

TEST(ElsewhereTest, AJobNeedsThreeOfThem) {
  Xoshiro256 random(1);
  MachineKind kind;
  kind.own = 0.01;
  kind.executions = 3;
  std::vector<ExecutionOfJobs> executions;
  for (int i = 0; i < 3; ++i) {
    executions.push_back(Execute(kind, i, &random));
  }
  executions[1].medians[5] = std::numeric_limits<double>::quiet_NaN();
  const Elsewhere found = *FindElsewhere(executions);
  EXPECT_FALSE(found.intervals[5].has_value());
  EXPECT_TRUE(found.intervals[6].has_value());
}

// The mean of executions of one machine scatters less than one of them.
TEST(ElsewhereTest, TheNextOneIsNoMean) {
  Xoshiro256 random(3);
  int inside = 0;
  int all = 0;
  for (int round = 0; round < 300; ++round) {
    MachineKind kind;
    kind.jobs = 30;
    kind.own = 0.03;
    std::vector<ExecutionOfJobs> executions;
    for (int i = 0; i < 20; ++i) {
      executions.push_back(Execute(kind, i / 5, &random));
    }
    const Elsewhere found = *FindElsewhere(executions);
    EXPECT_EQ(found.units, 4);
    const ExecutionOfJobs next = Execute(kind, 9, &random);
    for (int job = 0; job < kind.jobs; ++job, ++all) {
      inside += found.intervals[job]->low <= next.medians[job] &&
                next.medians[job] <= found.intervals[job]->high;
    }
  }
  EXPECT_NEAR(static_cast<double>(inside) / all, 0.95, 0.02);
}

}  // namespace
}  // namespace feedrate
