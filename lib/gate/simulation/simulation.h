// Simulated machines and suites of duels on them: how often the gate is wrong,
// and what it detects.
#ifndef FEEDRATE_LIB_GATE_SIMULATION_SIMULATION_H_
#define FEEDRATE_LIB_GATE_SIMULATION_SIMULATION_H_

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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_SIMULATION_SIMULATION_H_
