// Measures how often a stored baseline raises a false alarm if executions of
// the same program differ, and which slowdowns it finds, on simulated machines.
//
//   bazel run //lib/gate/simulation:simulate_executions -- 1000
//
// Arguments: number of suites per cell, and the seed. Prints the table of
// docs/compare_baseline.md and exits with 3 when a promise is not kept.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "lib/gate/simulation/simulation.h"

namespace feedrate {
namespace {

// The share of suites with a false alarm, in the worst of all machines.
double WorstShare(SimulatedExecutions design, int suites) {
  double worst = 0;
  for (const ExecutionNoise noise :
       {ExecutionNoise::kNormal, ExecutionNoise::kHeavyTailed,
        ExecutionNoise::kTwoValued}) {
    for (const bool is_shared : {false, true}) {
      for (const double deviation : {0.0, 0.01, 0.03, 0.1}) {
        if (deviation == 0 && is_shared) continue;
        design.noise = noise;
        design.is_shared = is_shared;
        design.deviation = deviation;
        const ExecutionResult result = SimulateExecutions(design, suites);
        worst = std::max(worst, static_cast<double>(result.suites_slower) /
                                    static_cast<double>(suites));
      }
    }
  }
  return worst;
}

// The smallest slowdown that is found in 95 of 100 jobs, in percent; 0 if not
// even the largest is.
double Found(SimulatedExecutions design, double deviation, int suites) {
  design.deviation = deviation;
  for (const double percent : {6, 7, 8, 10, 12, 15, 20, 30, 40, 60, 100}) {
    design.slowdown_percent = percent;
    const ExecutionResult result = SimulateExecutions(design, suites);
    if (result.slower >= 0.95 * static_cast<double>(result.jobs)) {
      return percent;
    }
  }
  return 0;
}

int Run(int suites, uint64_t seed) {
  bool is_kept = true;
  std::printf(
      "| executions stored | now | jobs | suites with a false alarm, worst of "
      "21 machines | found in 95 of 100 jobs: executions do not differ | "
      "differ "
      "by 1%% | by 3%% |\n|---|---|---|---|---|---|---|\n");
  for (const auto& [stored, now] : std::vector<std::pair<int, int>>{
           {2, 1}, {3, 1}, {5, 1}, {7, 1}, {10, 1}, {5, 3}, {8, 8}}) {
    for (const int jobs : {1, 5, 50, 200}) {
      SimulatedExecutions design;
      design.baseline_executions = stored;
      design.executions = now;
      design.jobs = jobs;
      design.seed = seed;
      // Large suites take long, and each has many jobs.
      const int count = jobs >= 50 ? std::max(suites / 5, 1) : suites;
      const double worst = WorstShare(design, count);
      is_kept &= worst <= 0.01 + 2.3 * 0.1 / std::sqrt(count);
      std::printf("| %d | %d | %d | %.1f of 100 |", stored, now, jobs,
                  100 * worst);
      for (const double deviation : {0.0, 0.01, 0.03}) {
        const double found = Found(design, deviation, std::max(1, 200 / jobs));
        std::printf(found > 0 ? " %g%% |" : " – |", found);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  return is_kept ? 0 : 3;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::Run(argc > 1 ? std::atoi(argv[1]) : 1000,
                       argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
