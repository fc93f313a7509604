// Machines that do not exist, to try the gate on.
#ifndef FEEDRATE_LIB_GATE_NOISE_H_
#define FEEDRATE_LIB_GATE_NOISE_H_

#include <string>
#include <vector>

#include "lib/gate/fast_random.h"

namespace feedrate {

enum class NoiseFamily {
  // Normal in logarithms: a factor of 0.5% to 15% shared by a pair, 0.3% drift
  // a side, samples scatter by `cv`.
  kLogNormal,
  // The same with Student's t of 3 degrees of freedom in place of normal.
  kHeavyTailed,
  // Each run depends on the one before (0.9) and each sample too (0.6); the
  // machine's mood has a deviation of 2% and does not cancel in a pair.
  kAutocorrelated,
  // One sample in 20 and one run in 30 is much slower.
  kOutliers,
  // What runs second in a pair is 1.5% slower.
  kPosition,
  // Each run meets one of two clock speeds, 8% apart.
  kTwoSpeeds,
};

inline constexpr NoiseFamily kNoiseFamilies[] = {
    NoiseFamily::kLogNormal,      NoiseFamily::kHeavyTailed,
    NoiseFamily::kAutocorrelated, NoiseFamily::kOutliers,
    NoiseFamily::kPosition,       NoiseFamily::kTwoSpeeds};

std::string NoiseFamilyName(NoiseFamily family);

struct NoiseModel {
  NoiseFamily family = NoiseFamily::kLogNormal;
  // Samples a run, and their coefficient of variation.
  int samples = 5;
  double cv = 0.02;
};

// One job on such a machine. B takes exp(`slowdown_log`) times as long as A.
class NoisyJob {
 public:
  NoisyJob(const NoiseModel& model, double slowdown_log, FastRandom* random);

  // Runs the next pair in an order by coin. Returns the logarithm of B's
  // typical time over A's, computed as from a real run's samples.
  double NextPair();

 private:
  // The logarithms of one run's samples, reduced.
  double RunLog(int position, double shared);
  // One unit of the family's noise, variance 1 (heavy tails included).
  double Unit();

  const NoiseModel model_;
  const double slowdown_log_;
  FastRandom* const random_;
  // Of this job's factor that a pair shares.
  const double shared_deviation_;
  double mood_ = 0;
  std::vector<double> logs_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_NOISE_H_
