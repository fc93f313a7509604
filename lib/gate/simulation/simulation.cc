#include "lib/gate/simulation/simulation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/gate/xoshiro.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

constexpr double kDrift = 0.003;
constexpr double kRunCorrelation = 0.9;
constexpr double kSampleCorrelation = 0.6;
constexpr double kMood = 0.02;

double SharedDeviation(Xoshiro256* random) {
  // Between 0.5% and 15%, evenly in logarithms.
  return 0.005 * std::pow(30.0, random->Uniform());
}

// One job on a simulated machine. B takes exp(`slowdown_log`) times as long as
// A.
class NoisyJob {
 public:
  NoisyJob(const NoiseModel& model, double slowdown_log, Xoshiro256* random);

  // Runs the next pair in random order. Returns the logarithm of B's typical
  // time over A's, computed as from the samples of a real run.
  double NextPair();

 private:
  // Logarithm of one run's typical time.
  double RunLog(int position, double shared);
  // One draw of the family's noise, with variance 1 (also for heavy tails).
  double Unit();

  const NoiseModel model_;
  const double slowdown_log_;
  Xoshiro256* const random_;
  // Standard deviation of the factor that a pair of this job shares.
  const double shared_deviation_;
  double mood_ = 0;
  std::vector<double> logs_;
};

NoisyJob::NoisyJob(const NoiseModel& model, double slowdown_log,
                   Xoshiro256* random)
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
  // t divided by its standard deviation, sqrt(3).
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

// Runs one job to its verdict, as `duel` does.
PairedLook RunJob(NoisyJob* job, const PairedDesign& design,
                  std::vector<double>* differences) {
  differences->clear();
  PairedLook look;
  for (int i = 0; i < static_cast<int>(design.looks.size()); ++i) {
    while (static_cast<int>(differences->size()) < design.looks[i]) {
      differences->push_back(job->NextPair());
    }
    look = LookAt(*differences, design, i);
    if (look.verdict != PairedVerdict::kCannotTell) break;
  }
  return look;
}

void Count(const PairedLook& look, SimulationResult* result) {
  ++result->rows;
  result->floor_percent_sum += 100 * std::expm1(look.floor);
  switch (look.verdict) {
    case PairedVerdict::kSame:
      ++result->same;
      break;
    case PairedVerdict::kFaster:
      ++result->faster;
      break;
    case PairedVerdict::kSlower:
      ++result->slower;
      break;
    case PairedVerdict::kCannotTell:
      ++result->cannot_tell;
      break;
  }
}

SimulationResult RunSuite(const SimulatedSuites& suites, int64_t number) {
  Xoshiro256 random(suites.seed * 0x9e3779b97f4a7c15 + number);
  const PairedDesign design{DefaultLooks(suites.max_pairs),
                            LevelFor(suites.rows), suites.interest_percent};
  const double slowdown = std::log1p(suites.slowdown_percent / 100);
  SimulationResult result;
  std::vector<double> differences;
  for (int64_t row = 0; row < suites.rows; ++row) {
    NoisyJob job(suites.noise, slowdown, &random);
    Count(RunJob(&job, design, &differences), &result);
    result.pairs += static_cast<int64_t>(differences.size());
  }
  result.suites_slower = result.slower > 0 ? 1 : 0;
  result.suites_changed = result.slower + result.faster > 0 ? 1 : 0;
  return result;
}

void Add(const SimulationResult& part, SimulationResult* all) {
  all->rows += part.rows;
  all->same += part.same;
  all->faster += part.faster;
  all->slower += part.slower;
  all->cannot_tell += part.cannot_tell;
  all->suites_slower += part.suites_slower;
  all->suites_changed += part.suites_changed;
  all->pairs += part.pairs;
  all->floor_percent_sum += part.floor_percent_sum;
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

SimulationResult Simulate(const SimulatedSuites& suites) {
  SimulationResult all;
  std::mutex mutex;
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    SimulationResult own;
    for (int64_t i = next++; i < suites.suites; i = next++) {
      Add(RunSuite(suites, i), &own);
    }
    const std::lock_guard<std::mutex> lock(mutex);
    Add(own, &all);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < suites.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return all;
}

}  // namespace feedrate
