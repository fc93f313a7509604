// What it costs to start with the catalogue. `plan` as a whole must start
// faster than `python3 -c pass`, some 16 ms; this is its largest part.
//
//   bazel run //lib/catalogue:catalogue_benchmark
#include <string>

#include "benchmark/benchmark.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/catalogue/transform_set.h"

namespace feedrate {
namespace {

void BM_MatrixAndPolicy(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Catalogue::Load("configs").value());
  }
}
BENCHMARK(BM_MatrixAndPolicy)->Unit(benchmark::kMillisecond);

void BM_RgbTransforms(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    const Catalogue catalogue = Catalogue::Load("configs").value();
    const Scenario& rgb = *catalogue.FindScenario("image-rgb");
    state.ResumeTiming();
    benchmark::DoNotOptimize(SetMembers(rgb, **catalogue.Transforms(rgb)));
  }
}
BENCHMARK(BM_RgbTransforms)->Unit(benchmark::kMillisecond);

void BM_PublishedNumbers(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(PublishedNumbers::Load("configs").value());
  }
}
BENCHMARK(BM_PublishedNumbers)->Unit(benchmark::kMillisecond);

// All that planning a paper config needs.
void BM_All(benchmark::State& state) {
  for (auto _ : state) {
    const Catalogue catalogue = Catalogue::Load("configs").value();
    const Scenario& rgb = *catalogue.FindScenario("image-rgb");
    benchmark::DoNotOptimize(SetMembers(rgb, **catalogue.Transforms(rgb)));
    benchmark::DoNotOptimize(PublishedNumbers::Load("configs").value());
  }
}
BENCHMARK(BM_All)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
