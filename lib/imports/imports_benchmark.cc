// What it costs to make rows of 200,000 entries of google/benchmark: less than
// a second. The argument is the number of repetitions per benchmark. With
// --write=FILE it writes the file of the first case instead.
//
//   bazel run //lib/imports:imports_benchmark
#include <cstdint>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "benchmark/benchmark.h"
#include "lib/imports/imports.h"

namespace feedrate {
namespace {

constexpr int kEntries = 200000;

std::string Results(int64_t repetitions) {
  std::string text =
      "{\n  \"context\": {\n    \"executable\": \"./bench\",\n"
      "    \"num_cpus\": 2\n  },\n  \"benchmarks\": [\n";
  for (int i = 0; i < kEntries; ++i) {
    const int64_t n = i / repetitions;
    absl::StrAppendFormat(&text,
                          R"(    {
      "name": "BM_sort<int>/n:%d",
      "family_index": 0,
      "per_family_instance_index": %d,
      "run_name": "BM_sort<int>/n:%d",
      "run_type": "iteration",
      "repetitions": %d,
      "repetition_index": %d,
      "threads": 1,
      "iterations": 21921,
      "real_time": %.16e,
      "cpu_time": 3.3200875872451076e+02,
      "time_unit": "ns",
      "items_per_second": 1.9276599884253344e+08
    }%s
)",
                          n, n, n, repetitions, i % repetitions,
                          1106.34 + n % 97 + i % 5,
                          i + 1 < kEntries ? "," : "");
  }
  return text + "  ]\n}\n";
}

void BM_GoogleBenchmark(benchmark::State& state) {
  const std::string text = Results(state.range(0));
  for (auto _ : state) {
    int64_t rows = 0;
    Importer importer({"", {}}, [&rows](const Row&) {
      ++rows;
      return absl::OkStatus();
    });
    const absl::Status status = importer.ReadText("f.json", text, false);
    if (!status.ok() || rows != kEntries) state.SkipWithError("not read");
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_GoogleBenchmark)->Arg(5)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  absl::string_view file = argc > 1 ? argv[1] : "";
  if (absl::ConsumePrefix(&file, "--write=")) {
    std::ofstream(std::string(file)) << feedrate::Results(5);
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
