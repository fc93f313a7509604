// What the timing loop adds: a bare pair of clock reads, the loop over a call
// that does nothing, and Google Benchmark's own loop over the same call.
//
// bazel run //lib/adapters/worker:timing_loop_benchmark --
//   --benchmark_repetitions=20 --benchmark_enable_random_interleaving=true
#include <cstdint>
#include <memory>

#include "benchmark/benchmark.h"
#include "lib/adapters/null/null_adapter.h"
#include "lib/adapters/worker/timing_loop.h"

namespace feedrate {
namespace {

constexpr int64_t kCalls = 10000;

void BM_ClockPair(benchmark::State& state) {
  for (auto _ : state) {
    for (int64_t i = 0; i < kCalls; ++i) {
      int64_t sample = -MonotonicNs();
      sample += MonotonicNs();
      benchmark::DoNotOptimize(sample);
    }
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
}
BENCHMARK(BM_ClockPair);

void BM_TimingLoop(benchmark::State& state) {
  NullTransform null;
  PreparedTransform* transform = &null;
  benchmark::DoNotOptimize(transform);
  TimingPlan plan;
  plan.count = kCalls;
  plan.num_items = 2000;
  plan.chunk = state.range(0);
  for (auto _ : state) {
    const Timings timings = TimeCalls(
        plan, MonotonicNs, [transform](int64_t item) { transform->Run(item); });
    benchmark::DoNotOptimize(timings.samples_ns.data());
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
}
BENCHMARK(BM_TimingLoop)->Arg(1)->Arg(100);

void BM_GoogleBenchmarkLoop(benchmark::State& state) {
  NullTransform null;
  PreparedTransform* transform = &null;
  benchmark::DoNotOptimize(transform);
  for (auto _ : state) {
    state.PauseTiming();
    state.ResumeTiming();
    transform->Run(0);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_GoogleBenchmarkLoop);

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
