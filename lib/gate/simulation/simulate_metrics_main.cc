// Measures how often the gate is wrong about time, memory and other metrics
// together, and what it detects, on simulated machines.
//
//   bazel run //lib/gate/simulation:simulate_metrics -- 2000 2
//
// Arguments: number of clean suites (of 500 rows), threads and the seed. Prints
// the table of docs/duel.md and exits with 3 when a promise is not kept.
#include <cstdio>
#include <cstdlib>

#include "lib/gate/simulation/simulation.h"

namespace feedrate {
namespace {

MetricSimulationResult RunLine(const SimulatedSuites& suites,
                               const SimulatedMetrics& metrics) {
  const MetricSimulationResult r = SimulateMetrics(suites, metrics);
  const double rows = static_cast<double>(r.time.rows);
  std::printf("| %s | %d | %g%% | %g%% | %lld | %.4f | %.4f |",
              NoiseFamilyName(suites.noise.family).c_str(), metrics.metrics,
              suites.slowdown_percent, metrics.memory_percent,
              static_cast<long long>(r.time.rows), 100 * r.time.slower / rows,
              100 * r.worse[0] / rows);
  int64_t others = 0;
  for (int m = 1; m < kMetricKinds; ++m) others += r.worse[m] + r.better[m];
  std::printf(" %lld | %.1f |", static_cast<long long>(others),
              static_cast<double>(r.time.pairs) / rows);
  if (suites.slowdown_percent == 0 && metrics.memory_percent == 0) {
    std::printf(" %lld worse, %lld either, of %lld",
                static_cast<long long>(r.suites_worse),
                static_cast<long long>(r.suites_changed),
                static_cast<long long>(suites.suites));
  }
  std::printf(" |\n");
  std::fflush(stdout);
  return r;
}

bool Promise(bool kept, const char* text) {
  std::printf("%s: %s\n", kept ? "kept" : "BROKEN", text);
  return kept;
}

int Main(int argc, char** argv) {
  SimulatedSuites suites;
  suites.suites = argc > 1 ? std::atoll(argv[1]) : 2000;
  suites.threads = argc > 2 ? std::atoi(argv[2]) : 2;
  suites.seed = argc > 3 ? std::atoll(argv[3]) : 1;
  SimulatedMetrics metrics;
  std::printf(
      "| noise | metrics | slowdown | more memory | rows | slower %% | memory "
      "worse %% | other metrics changed | pairs per row | suites with a false "
      "alarm |\n|---|---|---|---|---|---|---|---|---|---|\n");
  bool clean = true;
  for (const int count : {2, kMetricKinds}) {
    metrics.metrics = count;
    for (const NoiseFamily family : kNoiseFamilies) {
      suites.noise.family = family;
      clean &= 100 * RunLine(suites, metrics).suites_worse <= suites.suites;
    }
  }
  metrics.metrics = 2;
  suites.noise.family = NoiseFamily::kLogNormal;
  suites.suites = (suites.suites + 19) / 20;
  bool found[3] = {};
  for (const double slowdown : {2.0, 3.0}) {
    suites.slowdown_percent = slowdown;
    const MetricSimulationResult r = RunLine(suites, metrics);
    found[slowdown == 2 ? 0 : 1] =
        r.time.slower >= (slowdown == 2 ? 0.95 : 0.99) * r.time.rows;
  }
  suites.slowdown_percent = 0;
  for (const double memory : {3.0, 5.0, 10.0}) {
    metrics.memory_percent = memory;
    const MetricSimulationResult r = RunLine(suites, metrics);
    if (memory == 10) found[2] = r.worse[0] >= 0.99 * r.time.rows;
  }
  std::printf("\n");
  bool kept = Promise(clean, "a false alarm in at most 1 of 100 clean suites");
  kept &= Promise(found[0], "2% slower: found in at least 95%");
  kept &= Promise(found[1], "3% slower: found in at least 99%");
  kept &= Promise(found[2], "10% more memory: found in at least 99%");
  return kept ? 0 : 3;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) { return feedrate::Main(argc, argv); }
