#include "lib/gate/noise.h"

#include <algorithm>
#include <cmath>

#include "lib/stats/trimmed_mean.h"

namespace feedrate {
namespace {

constexpr double kDrift = 0.003;
constexpr double kRunCorrelation = 0.9;
constexpr double kSampleCorrelation = 0.6;
constexpr double kMood = 0.02;

double SharedDeviation(FastRandom* random) {
  // Between 0.5% and 15%, evenly in logarithms.
  return 0.005 * std::pow(30.0, random->Uniform());
}

}  // namespace

std::string NoiseFamilyName(NoiseFamily family) {
  switch (family) {
    case NoiseFamily::kLogNormal:
      return "log-normal";
    case NoiseFamily::kHeavyTailed:
      return "heavy-tailed";
    case NoiseFamily::kAutocorrelated:
      return "autocorrelated";
    case NoiseFamily::kOutliers:
      return "outliers";
    case NoiseFamily::kPosition:
      return "position";
    case NoiseFamily::kTwoSpeeds:
      break;
  }
  return "two speeds";
}

NoisyJob::NoisyJob(const NoiseModel& model, double slowdown_log,
                   FastRandom* random)
    : model_(model),
      slowdown_log_(slowdown_log),
      random_(random),
      shared_deviation_(SharedDeviation(random)),
      mood_(random->Normal() * kMood),
      logs_(model.samples) {}

double NoisyJob::Unit() {
  const double normal = random_->Normal();
  if (model_.family != NoiseFamily::kHeavyTailed) return normal;
  double chi_squared = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = random_->Normal();
    chi_squared += x * x;
  }
  // t over its deviation, sqrt(3).
  return normal / std::sqrt(chi_squared);
}

double NoisyJob::RunLog(int position, double shared) {
  double level = shared + kDrift * Unit();
  switch (model_.family) {
    case NoiseFamily::kAutocorrelated:
      mood_ = kRunCorrelation * mood_ +
              std::sqrt(1 - kRunCorrelation * kRunCorrelation) * kMood *
                  random_->Normal();
      level += mood_;
      break;
    case NoiseFamily::kOutliers:
      if (random_->Uniform() < 1.0 / 30) {
        level += 0.05 + 0.4 * random_->Uniform();
      }
      break;
    case NoiseFamily::kPosition:
      level += 0.015 * position;
      break;
    case NoiseFamily::kTwoSpeeds:
      if (random_->Uniform() < 0.3) level += 0.08;
      break;
    default:
      break;
  }
  double last = 0;
  for (double& log : logs_) {
    double unit = Unit();
    if (model_.family == NoiseFamily::kAutocorrelated) {
      unit = kSampleCorrelation * last +
             std::sqrt(1 - kSampleCorrelation * kSampleCorrelation) * unit;
      last = unit;
    }
    log = level + model_.cv * unit;
    if (model_.family == NoiseFamily::kOutliers && random_->Uniform() < 0.05) {
      log += 0.3 * random_->Exponential();
    }
  }
  return TrimmedMean(absl::MakeSpan(logs_));
}

double NoisyJob::NextPair() {
  const double shared = shared_deviation_ * random_->Normal();
  const bool b_first = random_->Coin();
  const double first = RunLog(0, shared);
  const double second = RunLog(1, shared);
  return slowdown_log_ + (b_first ? first - second : second - first);
}

}  // namespace feedrate
