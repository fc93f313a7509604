#include "lib/gate/simulation.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/gate/fast_random.h"
#include "lib/stats/paired_design.h"

namespace feedrate {
namespace {

// Runs one job to its verdict, as `duel` would.
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
  FastRandom random(suites.seed * 0x9e3779b97f4a7c15 + number);
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
