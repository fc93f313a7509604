// Simulated suites that are compared with a stored baseline. Runs come in
// executions of a program, and executions differ.
#pragma once

#include <cstdint>

namespace feedrate {

// How executions are distributed.
enum class ExecutionNoise {
  kNormal,
  // Student's t with 3 degrees of freedom.
  kHeavyTailed,
  // One of two speeds, with equal chance.
  kTwoValued,
};

struct SimulatedExecutions {
  ExecutionNoise noise = ExecutionNoise::kNormal;
  // Standard deviation between executions, as a logarithm, and whether all jobs
  // of an execution share its value.
  double deviation = 0;
  bool is_shared = false;
  int jobs = 5;
  int baseline_executions = 3;
  int executions = 1;
  // Runs of a job in an execution, and their standard deviation.
  int runs = 5;
  double run_deviation = 0.005;
  // How much longer every job takes than in the baseline, in percent.
  double slowdown_percent = 0;
  uint64_t seed = 1;
};

struct ExecutionResult {
  int64_t jobs = 0;
  int64_t slower = 0;
  int64_t cannot_tell = 0;
  // Suites with exit code 3.
  int64_t suites_slower = 0;
};

// Compares by a tolerance of 5% for throughput, as compare_baseline does.
ExecutionResult SimulateExecutions(const SimulatedExecutions& design,
                                   int suites);

}  // namespace feedrate
