// Simulated machines and suites of duels on them: how often the gate is wrong,
// and what it detects.
#pragma once

#include <cstdint>
#include <string>

namespace feedrate {

enum class NoiseFamily {
  // Log-normal: a factor of 0.5% to 15% shared by a pair, 0.3% drift per side,
  // and samples with a coefficient of variation of `cv`.
  kLogNormal,
  // The same with Student's t with 3 degrees of freedom instead of normal.
  kHeavyTailed,
  // Each run depends on the one before (correlation 0.9), and each sample too
  // (0.6). The slow drift of the machine has a standard deviation of 2% and
  // does not cancel in a pair.
  kAutocorrelated,
  // One sample in 20 and one run in 30 is much slower.
  kOutliers,
  // The second run of a pair is 1.5% slower.
  kPosition,
  // Each run gets one of two clock speeds, 8% apart.
  kTwoSpeeds,
};

inline constexpr NoiseFamily kNoiseFamilies[] = {
    NoiseFamily::kLogNormal,      NoiseFamily::kHeavyTailed,
    NoiseFamily::kAutocorrelated, NoiseFamily::kOutliers,
    NoiseFamily::kPosition,       NoiseFamily::kTwoSpeeds};

std::string NoiseFamilyName(NoiseFamily family);

struct NoiseModel {
  NoiseFamily family = NoiseFamily::kLogNormal;
  // Samples per run, and their coefficient of variation.
  int samples = 5;
  double cv = 0.02;
};

struct SimulatedSuites {
  NoiseModel noise;
  int64_t suites = 100;
  // Jobs per suite. The level depends on it.
  int64_t rows = 500;
  // How much longer B takes, in percent, in every job.
  double slowdown_percent = 0;
  double interest_percent = 2;
  int max_pairs = 30;
  // If false, there is one look, after `max_pairs`.
  bool stops_early = true;
  uint64_t seed = 1;
  int threads = 1;
};

struct SimulationResult {
  int64_t rows = 0;
  int64_t same = 0;
  int64_t faster = 0;
  int64_t slower = 0;
  int64_t cannot_tell = 0;
  // Suites with at least one `slower`, and with a `slower` or `faster`.
  int64_t suites_slower = 0;
  int64_t suites_changed = 0;
  // Number of pairs, over all rows.
  int64_t pairs = 0;
  // Sum of the floors (percent) of all rows.
  double floor_percent_sum = 0;
};

// The result depends only on the seed, not on the number of threads.
SimulationResult Simulate(const SimulatedSuites& suites);

// Metrics besides time, with ties, discrete values and values that never vary.
enum class MetricKind {
  // Pages of 4 KiB: 400 to 100,000 of them, with a coefficient of variation of
  // 0 to 2%, half of which the two runs of a pair share. Small processes have
  // many ties.
  kMemory,
  // CPU seconds with a coefficient of variation of 1%; a third of the jobs
  // count in ticks of 1% of the total.
  kCpu,
  // A constant in two of three jobs, otherwise one of two values that are 3%
  // apart, with equal chance in each run: the worst case for the rule about
  // constants.
  kAllocations,
  // 300 to 30,000, with the square root of that as standard deviation, and 2%
  // more in the second run of a pair.
  kPageFaults,
};
inline constexpr int kMetricKinds = 4;

struct SimulatedMetrics {
  // How many kinds of metrics are judged, in the order of the enum.
  int metrics = 2;
  // How much more memory B needs, in percent, in every job.
  double memory_percent = 0;
  double interest_percent = 5;
};

struct MetricSimulationResult {
  SimulationResult time;
  // Jobs of which the metric is worse, or better, by kind.
  int64_t worse[kMetricKinds] = {};
  int64_t better[kMetricKinds] = {};
  // Suites with any alarm about time or a metric: a `slower` or `worse`, or
  // also a `faster` or `better`.
  int64_t suites_worse = 0;
  int64_t suites_changed = 0;
};

// The same for time together with other metrics.
MetricSimulationResult SimulateMetrics(const SimulatedSuites& suites,
                                       const SimulatedMetrics& metrics);

// Simulated suites that are compared with a stored baseline. Runs come in
// executions of a program, and executions differ.

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
