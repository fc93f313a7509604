// Measures how often a comparison with baselines of other machines is wrong,
// and what it detects, on simulated machines.
//
//   bazel run //lib/gate/simulation:simulate_machines -- 2000
//
// Arguments: number of clean suites and the seed. Prints the table of
// docs/compare_baseline.md and exits with 3 when there is a false alarm in more
// than 1 of 100 clean suites.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "lib/base/xoshiro.h"
#include "lib/stats/machine_scaling.h"

namespace feedrate {
namespace {

constexpr int kWorkloads = 4;
constexpr int kRounds = 15;
constexpr int kRuns = 5;
constexpr double kRunNoise = 0.01;
constexpr double kRoundNoise = 0.02;
// Quantile of the normal distribution: what is detected 95 times in 100.
constexpr double kNormal95 = 1.645;

struct Setting {
  int jobs = 50;
  // Machines that have a baseline.
  int machines = 1;
  // How much the reference workloads disagree about two machines (standard
  // deviation of the logarithm of each), and what they do not explain.
  double disagree = 0.1;
  double unexplained = 0.03;
  // Student's t with 4 degrees of freedom instead of normal.
  bool heavy = false;
  // Change of one job in ten, in percent of its speed.
  double change_percent = 0;
};

struct Counts {
  int64_t suites = 0;
  int64_t wrong_suites = 0;
  int64_t changed = 0;
  int64_t found = 0;
  double floor_sum = 0;
  int64_t jobs = 0;
};

double Unexplained(const Setting& setting, Xoshiro256* random) {
  double value = random->Normal();
  if (setting.heavy) {
    double squares = 0;
    for (int i = 0; i < 4; ++i) {
      const double x = random->Normal();
      squares += x * x;
    }
    // t divided by its standard deviation, the root of 2.
    value /= std::sqrt(squares / 4) * std::sqrt(2.0);
  }
  return setting.unexplained * value;
}

LogSpeed Measure(double log, double noise, int count, Xoshiro256* random) {
  std::vector<double> speeds;
  for (int i = 0; i < count; ++i) {
    speeds.push_back(std::exp(log + noise * random->Normal()));
  }
  return LogSpeedOf(speeds, noise);
}

// Weights that add up to 1, mostly of one or two workloads: squares of normal
// values are a Dirichlet distribution with parameters of 0.5.
std::vector<double> Weights(Xoshiro256* random) {
  std::vector<double> weights;
  double sum = 0;
  for (int k = 0; k < kWorkloads; ++k) {
    const double x = random->Normal();
    weights.push_back(x * x);
    sum += x * x;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void RunSuite(const Setting& setting, Xoshiro256* random, Counts* counts) {
  // The new machine comes last.
  std::vector<std::vector<double>> speeds(setting.machines + 1);
  std::vector<std::vector<LogSpeed>> references(setting.machines + 1);
  for (size_t m = 0; m < speeds.size(); ++m) {
    const double common = 0.3 * random->Normal();
    for (int k = 0; k < kWorkloads; ++k) {
      speeds[m].push_back(common + setting.disagree * random->Normal());
      references[m].push_back(
          Measure(speeds[m][k], kRoundNoise, kRounds, random));
    }
  }
  std::vector<ScaledJob> jobs;
  const int changed = setting.change_percent == 0 ? 0 : (setting.jobs + 9) / 10;
  for (int j = 0; j < setting.jobs; ++j) {
    const std::vector<double> weights = Weights(random);
    std::vector<KnownSpeed> known;
    ScaledJob job;
    for (int m = 0; m <= setting.machines; ++m) {
      double log = Unexplained(setting, random);
      for (int k = 0; k < kWorkloads; ++k) log += weights[k] * speeds[m][k];
      if (m == setting.machines) {
        if (j < changed) log += std::log1p(-setting.change_percent / 100);
        job.measured = Measure(log, kRunNoise, kRuns, random);
      } else {
        known.push_back(
            {references[m], Measure(log, kRunNoise, kRuns, random)});
      }
    }
    job.predicted = PredictSpeed(known, references.back(), kUnexplained);
    jobs.push_back(job);
  }
  ScaleSuite(0.01, &jobs);
  bool is_wrong = false;
  for (int j = 0; j < setting.jobs; ++j) {
    const bool is_slower = jobs[j].shift < -jobs[j].limit;
    counts->floor_sum +=
        -std::expm1(-jobs[j].limit - kNormal95 * jobs[j].error);
    if (j < changed) {
      counts->found += is_slower;
    } else {
      is_wrong |= is_slower;
    }
  }
  counts->jobs += setting.jobs;
  counts->changed += changed;
  counts->wrong_suites += is_wrong;
  ++counts->suites;
}

bool RunLine(const Setting& clean, int64_t suites, uint64_t seed) {
  std::printf("| %d | %d | %g%% | %g%% | %s |", clean.jobs, clean.machines,
              100 * clean.disagree, 100 * clean.unexplained,
              clean.heavy ? "heavy-tailed" : "normal");
  bool kept = true;
  for (const double change : {0.0, 10.0, 20.0, 30.0}) {
    Setting setting = clean;
    setting.change_percent = change;
    Xoshiro256 random(seed);
    Counts counts;
    const int64_t count = change == 0 ? suites : (suites + 9) / 10;
    for (int64_t i = 0; i < count; ++i) RunSuite(setting, &random, &counts);
    if (change == 0) {
      std::printf(" %lld of %lld | %.1f%% |",
                  static_cast<long long>(counts.wrong_suites),
                  static_cast<long long>(counts.suites),
                  100 * counts.floor_sum / counts.jobs);
      kept = 100 * counts.wrong_suites <= counts.suites;
    } else {
      std::printf(" %.0f%% |", 100.0 * counts.found / counts.changed);
    }
  }
  std::printf("\n");
  std::fflush(stdout);
  return kept;
}

int Main(int argc, char** argv) {
  const int64_t suites = argc > 1 ? std::atoll(argv[1]) : 2000;
  const uint64_t seed = argc > 2 ? std::atoll(argv[2]) : 1;
  std::printf(
      "| jobs | machines with a baseline | references disagree by | "
      "unexplained "
      "| its distribution | clean suites with a false alarm | smallest "
      "detectable change | found at -10%% | -20%% | -30%% |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  bool kept = true;
  for (const bool heavy : {false, true}) {
    for (const double disagree : {0.03, 0.1, 0.3}) {
      for (const int machines : {1, 4}) {
        Setting setting;
        setting.heavy = heavy;
        setting.disagree = disagree;
        setting.machines = machines;
        kept &= RunLine(setting, suites, seed);
      }
    }
  }
  for (const int jobs : {1, 5, 10, 20, 500}) {
    Setting setting;
    setting.jobs = jobs;
    setting.heavy = true;
    kept &= RunLine(setting, jobs > 100 ? suites / 4 : suites, seed);
  }
  Setting still;
  still.unexplained = 0.01;
  still.disagree = 0.03;
  kept &= RunLine(still, suites, seed);
  std::printf("\n%s: a false alarm in at most 1 of 100 clean suites\n",
              kept ? "kept" : "BROKEN");
  return kept ? 0 : 3;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) { return feedrate::Main(argc, argv); }
