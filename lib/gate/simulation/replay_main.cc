// Replays pull requests on machines with published noise, and counts what duels
// and stored baselines call slower. dev/bench.sh replay adds other judges.
//
//   bazel run //lib/gate/simulation:replay_pulls -- 1000 1 30 /tmp/series.jsonl
//
// Arguments: the number of pull requests that change nothing, the seed, the
// most pairs of a duel, and a file for the series that other judges read. A
// seventh as many slow ones follow: 2% for duels, 5% for stored baselines.
// Then, and alone without pull requests, 420 suites of 200 rows, measured on
// one day on eight machines, and again on another day on another machine: where
// did the medians lie? Exits with 3 if a duel called a pull request that
// changes nothing slower, or stored baselines more than 1 in 100, or if not 95%
// +- 3 of the medians lie where they should.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/gate/simulation/replay.h"
#include "lib/stats/paired_design.h"

namespace feedrate {
namespace {

// Suites, and what became of them.
struct Count {
  int suites = 0;
  int slower = 0;
  int cannot_tell = 0;
  int64_t jobs = 0;
  int64_t slower_jobs = 0;

  void Add(const Verdict& suite, int jobs_of_it) {
    ++suites;
    jobs += jobs_of_it;
    slower += suite.exit_code() == 3 ? 1 : 0;
    cannot_tell += suite.exit_code() == 4 ? 1 : 0;
    slower_jobs += suite.counts().slower();
  }
};
struct Counts {
  Count duel, stored, slow_duel, slow_stored;
};

constexpr int kSizes[] = {5, 10, 20, 50, 100, 200};

void Each(int count, const std::function<void(int)>& work) {
  std::atomic<int> next{0};
  const auto loop = [&] {
    for (int i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) {
    threads.emplace_back(loop);
  }
  loop();
  for (std::thread& thread : threads) thread.join();
}

void Print(const std::string& name, const Counts& c) {
  const auto percent = [](int64_t part, int64_t all) {
    return all == 0 ? 0 : 100.0 * static_cast<double>(part) / all;
  };
  std::printf(
      "| %s | %d | %d | %d | %.0f%% | %.0f%% | %d | %d | %.0f%% | %.0f%% |\n",
      name.c_str(), c.duel.suites, c.duel.slower, c.duel.cannot_tell,
      percent(c.slow_duel.slower, c.slow_duel.suites),
      percent(c.slow_duel.slower_jobs, c.slow_duel.jobs), c.stored.slower,
      c.stored.cannot_tell, percent(c.slow_stored.slower, c.slow_stored.suites),
      percent(c.slow_stored.slower_jobs, c.slow_stored.jobs));
}

void AddTo(const Count& part, Count* all) {
  all->suites += part.suites;
  all->slower += part.slower;
  all->cannot_tell += part.cannot_tell;
  all->jobs += part.jobs;
  all->slower_jobs += part.slower_jobs;
}

// Suites per kind of noise, of so many rows each.
constexpr int kElsewhereSuites = 30;
constexpr int kElsewhereJobs = 200;
// Percent of the medians that must lie in their interval, and the tolerance.
constexpr double kElsewherePercent = 95;
constexpr double kElsewhereWithin = 3;

// Whether medians of another day and machine lie where they should.
bool RunElsewhere(uint64_t seed) {
  std::vector<ElsewhereReplay> by_noise(kPublishedNoises);
  std::mutex mutex;
  Each(kPublishedNoises * kElsewhereSuites, [&](int i) {
    ReplayedPull pull;
    pull.noise = static_cast<PublishedNoise>(i % kPublishedNoises);
    pull.jobs = kElsewhereJobs;
    pull.seed = seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(i);
    const ElsewhereReplay one = ReplayElsewhere(pull);
    const std::lock_guard<std::mutex> lock(mutex);
    ElsewhereReplay& sum = by_noise[i % kPublishedNoises];
    sum.medians += one.medians;
    sum.in_interval += one.in_interval;
    sum.in_elsewhere += one.in_elsewhere;
    sum.width += one.width / kElsewhereSuites;
  });
  std::printf(
      "\n| noise | medians of another day and machine | in the 95%% interval | "
      "in 95%% elsewhere | which is wide |\n|---|---|---|---|---|\n");
  ElsewhereReplay all;
  const auto print = [](const std::string& name, const ElsewhereReplay& r) {
    const double part = 100.0 / static_cast<double>(r.medians);
    std::printf(
        "| %s | %d | %.1f%% | %.1f%% | %.1f%% |\n", name.c_str(),
        static_cast<int>(r.medians), part * static_cast<double>(r.in_interval),
        part * static_cast<double>(r.in_elsewhere), 100 * std::expm1(r.width));
    return part * static_cast<double>(r.in_elsewhere);
  };
  for (int i = 0; i < kPublishedNoises; ++i) {
    print(PublishedNoiseName(static_cast<PublishedNoise>(i)), by_noise[i]);
    all.medians += by_noise[i].medians;
    all.in_interval += by_noise[i].in_interval;
    all.in_elsewhere += by_noise[i].in_elsewhere;
    all.width += by_noise[i].width / kPublishedNoises;
  }
  return std::abs(print("together", all) - kElsewherePercent) <=
         kElsewhereWithin;
}

int Run(int pulls, uint64_t seed, int max_pairs, const char* series_path) {
  if (pulls == 0) return RunElsewhere(seed) ? 0 : 3;
  std::ofstream series;
  if (series_path != nullptr) series.open(series_path);
  std::vector<Counts> by_noise(kPublishedNoises);
  std::mutex mutex;
  const int slow = std::max(kPublishedNoises, pulls / 7);
  Each(pulls + slow, [&](int i) {
    const bool is_slow = i >= pulls;
    ReplayedPull pull;
    pull.noise = static_cast<PublishedNoise>(i % kPublishedNoises);
    pull.jobs = kSizes[i / kPublishedNoises % 6];
    pull.seed = seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(i);
    if (is_slow) pull.slowdown_percent = 2;
    const Verdict duel = ReplayDuel(pull, max_pairs);
    if (is_slow) pull.slowdown_percent = 5;
    const StoredReplay stored = ReplayStored(pull, series_path != nullptr);
    const std::lock_guard<std::mutex> lock(mutex);
    Counts& counts = by_noise[i % kPublishedNoises];
    (is_slow ? counts.slow_duel : counts.duel).Add(duel, pull.jobs);
    (is_slow ? counts.slow_stored : counts.stored).Add(stored.suite, pull.jobs);
    if (series_path == nullptr) return;
    series << "{\"duel\":" << duel.counts().slower() << "," << stored.series
           << "}\n";
  });
  std::printf(
      "| noise | pull requests | duel: slower | cannot tell | 2%% found | in "
      "jobs | stored: slower | cannot tell | 5%% found | in jobs |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  Counts all;
  for (int i = 0; i < kPublishedNoises; ++i) {
    Print(PublishedNoiseName(static_cast<PublishedNoise>(i)), by_noise[i]);
    AddTo(by_noise[i].duel, &all.duel);
    AddTo(by_noise[i].stored, &all.stored);
    AddTo(by_noise[i].slow_duel, &all.slow_duel);
    AddTo(by_noise[i].slow_stored, &all.slow_stored);
  }
  Print("together", all);
  const bool is_there = RunElsewhere(seed);
  const bool is_kept = is_there && all.duel.slower == 0 &&
                       100 * all.stored.slower <= all.stored.suites;
  return is_kept ? 0 : 3;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::Run(argc > 1 ? std::atoi(argv[1]) : 1000,
                       argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1,
                       argc > 3 ? std::atoi(argv[3]) : feedrate::kMaxPairs,
                       argc > 4 ? argv[4] : nullptr);
}
