#include "lib/gate/simulation/simulation.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/xoshiro.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/compare_stored.h"
#include "lib/gate/verdict/metric_verdicts.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/row.pb.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

// One draw of variance 1.
double Draw(ExecutionNoise noise, Xoshiro256* random) {
  switch (noise) {
    case ExecutionNoise::kNormal:
      return random->Normal();
    case ExecutionNoise::kTwoValued:
      return random->Coin() ? 1 : -1;
    case ExecutionNoise::kHeavyTailed:
      break;
  }
  double chi_squared = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = random->Normal();
    chi_squared += x * x;
  }
  return random->Normal() / std::sqrt(chi_squared);
}

// The rows of one side.
std::vector<Row> Side(const SimulatedExecutions& design, bool is_baseline,
                      Xoshiro256* random) {
  std::vector<Row> rows;
  const int executions =
      is_baseline ? design.baseline_executions : design.executions;
  const double slowdown =
      is_baseline ? 0 : std::log1p(design.slowdown_percent / 100);
  for (int e = 0; e < executions; ++e) {
    const double shared = Draw(design.noise, random);
    for (int j = 0; j < design.jobs; ++j) {
      const double own = Draw(design.noise, random);
      const double level =
          design.deviation * (design.is_shared ? shared : own) - slowdown;
      for (int run = 0; run < design.runs; ++run) {
        Row& row = rows.emplace_back();
        row.set_job_id(absl::StrCat("job", j));
        row.set_machine_profile("m");
        row.set_status("ok");
        row.set_run_index(run);
        row.set_run_id(absl::StrCat(is_baseline ? "a" : "b", e));
        row.set_throughput(
            1000 * std::exp(level + design.run_deviation * random->Normal()));
      }
    }
  }
  return rows;
}

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
  bool a_was_first() const { return a_was_first_; }

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
  bool a_was_first_ = false;
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
  a_was_first_ = !b_first;
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
  result->floor_percent_sum += PercentOfLog(look.floor);
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
  const double level = LevelFor(suites.rows);
  const PairedDesign design{suites.stops_early
                                ? DefaultLooks(suites.max_pairs, level)
                                : std::vector<int>{suites.max_pairs},
                            level, suites.interest_percent};
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

void Add(const MetricSimulationResult& part, MetricSimulationResult* all) {
  Add(part.time, &all->time);
  for (int m = 0; m < kMetricKinds; ++m) {
    all->worse[m] += part.worse[m];
    all->better[m] += part.better[m];
  }
  all->suites_worse += part.suites_worse;
  all->suites_changed += part.suites_changed;
}

}  // namespace

ExecutionResult SimulateExecutions(const SimulatedExecutions& design,
                                   int suites) {
  RuleOptions rules;
  Tolerance* const tolerance = rules.tolerances.add_tolerances();
  tolerance->set_metric("throughput");
  tolerance->set_better(HIGHER);
  tolerance->set_percent(5);
  ExecutionResult result;
  for (int i = 0; i < suites; ++i) {
    Xoshiro256 random(design.seed * 0x9e3779b97f4a7c15 +
                      static_cast<uint64_t>(i));
    std::vector<Row> baseline = Side(design, true, &random);
    const Verdict suite =
        SuiteVerdict(CompareRowFiles(Side(design, false, &random),
                                     std::move(baseline), rules),
                     {});
    result.jobs += design.jobs;
    result.slower += suite.counts().slower();
    result.cannot_tell += suite.counts().cannot_tell();
    result.suites_slower += suite.exit_code() == 3 ? 1 : 0;
  }
  return result;
}

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

namespace {

// Calls `run(i, &own)` for each suite, in several threads, and adds up the
// results.
template <typename Result, typename Run>
Result RunSuites(const SimulatedSuites& suites, const Run& run) {
  Result all;
  std::mutex mutex;
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    Result own;
    for (int64_t i = next++; i < suites.suites; i = next++) Add(run(i), &own);
    const std::lock_guard<std::mutex> lock(mutex);
    Add(own, &all);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < suites.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return all;
}

}  // namespace

SimulationResult Simulate(const SimulatedSuites& suites) {
  return RunSuites<SimulationResult>(
      suites, [&suites](int64_t i) { return RunSuite(suites, i); });
}

namespace {

// One metric of a job. B's values are exp(`log`) times A's.
class NoisyMetric {
 public:
  NoisyMetric(MetricKind kind, double log, Xoshiro256* random)
      : kind_(kind), log_(log), random_(random) {
    const double u = random->Uniform();
    const double third = random->Uniform();
    switch (kind) {
      case MetricKind::kMemory:
        level_ = 400 * std::pow(250.0, u);
        cv_ = 0.02 * third;
        break;
      case MetricKind::kCpu:
        level_ = third < 1.0 / 3 ? 100 : 1e9;
        cv_ = 0.01;
        break;
      case MetricKind::kAllocations:
        level_ = 1000;
        varies_ = third < 1.0 / 3;
        break;
      case MetricKind::kPageFaults:
        level_ = 300 * std::pow(100.0, u);
        cv_ = 1 / std::sqrt(level_);
        break;
    }
  }

  MetricPair NextPair(bool a_first) {
    const double shared = cv_ * std::sqrt(0.5) * random_->Normal();
    MetricPair pair;
    pair.a_first = a_first;
    pair.a = Value(shared, 0, a_first);
    pair.b = Value(shared, log_, !a_first);
    return pair;
  }

 private:
  double Value(double shared, double log, bool is_first) {
    log += shared + cv_ * std::sqrt(0.5) * random_->Normal();
    if (varies_ && random_->Coin()) log += 0.03;
    if (kind_ == MetricKind::kPageFaults && !is_first) log += 0.02;
    return std::round(level_ * std::exp(log));
  }

  const MetricKind kind_;
  const double log_;
  Xoshiro256* const random_;
  double level_ = 1;
  double cv_ = 0;
  bool varies_ = false;
};

// Runs one job until time and all metrics are decided, as `duel` does.
void RunJobWithMetrics(NoisyJob* job, std::vector<NoisyMetric>* metrics,
                       const PairedDesign& design,
                       const PairedDesign& metric_design,
                       MetricSimulationResult* result) {
  std::vector<double> differences;
  std::vector<std::vector<MetricPair>> pairs(metrics->size());
  std::vector<PairedVerdict> verdicts(metrics->size());
  PairedLook look;
  for (int i = 0; i < static_cast<int>(design.looks.size()); ++i) {
    while (static_cast<int>(differences.size()) < design.looks[i]) {
      differences.push_back(job->NextPair());
      for (size_t m = 0; m < metrics->size(); ++m) {
        pairs[m].push_back((*metrics)[m].NextPair(job->a_was_first()));
      }
    }
    look = LookAt(differences, design, i);
    bool is_open = look.verdict == PairedVerdict::kCannotTell;
    for (size_t m = 0; m < metrics->size(); ++m) {
      verdicts[m] =
          LookAtMetric(pairs[m], 1e-12, metric_design, i).look.verdict;
      is_open |= verdicts[m] == PairedVerdict::kCannotTell;
    }
    if (!is_open) break;
  }
  Count(look, &result->time);
  result->time.pairs += static_cast<int64_t>(differences.size());
  for (size_t m = 0; m < metrics->size(); ++m) {
    result->worse[m] += verdicts[m] == PairedVerdict::kSlower;
    result->better[m] += verdicts[m] == PairedVerdict::kFaster;
  }
}

MetricSimulationResult RunSuiteWithMetrics(const SimulatedSuites& suites,
                                           const SimulatedMetrics& simulated,
                                           int64_t number) {
  Xoshiro256 random(suites.seed * 0x9e3779b97f4a7c15 + number);
  const JointLevels levels = LevelsFor(suites.rows, simulated.metrics, true);
  const std::vector<int> looks = DefaultLooks(suites.max_pairs);
  const PairedDesign design{looks, levels.time, suites.interest_percent};
  const PairedDesign metric_design{looks, levels.metric,
                                   simulated.interest_percent};
  const double slowdown = std::log1p(suites.slowdown_percent / 100);
  MetricSimulationResult result;
  for (int64_t row = 0; row < suites.rows; ++row) {
    NoisyJob job(suites.noise, slowdown, &random);
    std::vector<NoisyMetric> metrics;
    for (int m = 0; m < simulated.metrics; ++m) {
      const auto kind = static_cast<MetricKind>(m);
      metrics.emplace_back(kind,
                           kind == MetricKind::kMemory
                               ? std::log1p(simulated.memory_percent / 100)
                               : 0,
                           &random);
    }
    RunJobWithMetrics(&job, &metrics, design, metric_design, &result);
  }
  int64_t worse = result.time.slower;
  int64_t better = result.time.faster;
  for (int m = 0; m < kMetricKinds; ++m) {
    worse += result.worse[m];
    better += result.better[m];
  }
  result.suites_worse = worse > 0 ? 1 : 0;
  result.suites_changed = worse + better > 0 ? 1 : 0;
  return result;
}

}  // namespace

MetricSimulationResult SimulateMetrics(const SimulatedSuites& suites,
                                       const SimulatedMetrics& metrics) {
  return RunSuites<MetricSimulationResult>(suites, [&](int64_t i) {
    return RunSuiteWithMetrics(suites, metrics, i);
  });
}

}  // namespace feedrate
