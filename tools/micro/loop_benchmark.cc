// The cost of timing one call: a bare pair of clock reads, the timing loop of
// workers around a call that does nothing, and Google Benchmark's own loop
// around the same call.
//
//   bazel run -c opt //tools/micro:loop_benchmark
#include <cstdint>
#include <memory>

#include "benchmark/benchmark.h"
#include "lib/adapters/null/null_adapter.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/timing_loop.h"

namespace feedrate {
namespace {

constexpr int64_t kCalls = 10000;

void BM_ClockPair(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(MonotonicNs());
    benchmark::DoNotOptimize(MonotonicNs());
  }
}
BENCHMARK(BM_ClockPair);

// Wall time of the whole loop per call, including the time between samples.
void BM_WorkersLoop(benchmark::State& state) {
  const std::unique_ptr<PreparedTransform> transform =
      std::make_unique<NullTransform>();
  TimingPlan plan;
  plan.count = kCalls;
  plan.num_items = 100;
  for (auto _ : state) {
    benchmark::DoNotOptimize(TimeCalls(
        plan, MonotonicNs, [&](int64_t item) { transform->Run(item); },
        TakeProbe));
  }
  state.counters["per_call_s"] =
      benchmark::Counter(kCalls, benchmark::Counter::kIsIterationInvariantRate |
                                     benchmark::Counter::kInvert);
}
BENCHMARK(BM_WorkersLoop);

void BM_BenchmarksLoop(benchmark::State& state) {
  const std::unique_ptr<PreparedTransform> transform =
      std::make_unique<NullTransform>();
  int64_t item = 0;
  for (auto _ : state) {
    state.PauseTiming();
    state.ResumeTiming();
    transform->Run(item++);
  }
}
// Timing each call by itself is what a row needs; pausing is how this library
// does it.
BENCHMARK(BM_BenchmarksLoop);

void BM_UntimedCalls(benchmark::State& state) {
  const std::unique_ptr<PreparedTransform> transform =
      std::make_unique<NullTransform>();
  int64_t item = 0;
  for (auto _ : state) transform->Run(item++);
}
BENCHMARK(BM_UntimedCalls);

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
