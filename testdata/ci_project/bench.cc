// A project that CI gates: its speed is the length of a loop.
#include <benchmark/benchmark.h>

constexpr int kLength = 2000;

static void BM_loop(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < kLength; ++i) benchmark::DoNotOptimize(i);
  }
}
BENCHMARK(BM_loop);
BENCHMARK_MAIN();
