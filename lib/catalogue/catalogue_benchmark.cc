// What it costs to start with the catalogue. `plan` as a whole must start
// faster than `python3 -c pass`, some 16 ms; this is its largest part.
//
//   bazel run //lib/catalogue:catalogue_benchmark
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/transforms.pb.h"

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

// Looking up every cell of a set of 100 libraries and 1000 transforms, as
// planning a million jobs does (each cell ten times in a sweep).
void BM_LookUpSyntheticCells(benchmark::State& state) {
  constexpr int kLibraries = 100;
  constexpr int kTransforms = 1000;
  std::vector<std::string> libraries;
  for (int i = 0; i < kLibraries; ++i) {
    libraries.push_back(absl::StrCat("library", i));
  }
  TransformSet set;
  for (int t = 0; t < kTransforms; ++t) {
    Transform* transform = set.add_transforms();
    transform->set_name(absl::StrCat("Transform", t));
    for (const std::string& library : libraries) {
      transform->add_implementations()->set_library(library);
    }
  }
  for (auto _ : state) {
    for (const Transform& t : set.transforms()) {
      for (const std::string& library : libraries) {
        benchmark::DoNotOptimize(FindImplementation(t, library, "paper"));
      }
    }
  }
}
BENCHMARK(BM_LookUpSyntheticCells)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
