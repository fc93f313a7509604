// Samples per second of the loader compared with its limit, and where the time
// of its threads goes, as shares of threads x elapsed time.
//
//   bazel run //lib/loader/mixture:mixture_benchmark
//
// Arguments: samples_per_episode, mix_block_length. 29 synthetic data sets.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "benchmark/benchmark.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/loader/mixture/mixture_loader.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

constexpr int64_t kSamples = 64 * 48;

const std::vector<MixtureSource>& Sources() {
  static const auto* const sources = [] {
    const std::string folder = NewTestFolder() + "/episodes";
    const absl::Status written =
        WriteSyntheticEpisodes(SyntheticEpisodesSpec(), folder, nullptr);
    if (!written.ok()) std::abort();
    return new std::vector<MixtureSource>(ReadMixtureFolder(folder).value());
  }();
  return *sources;
}

MixtureSpec Spec(const benchmark::State& state) {
  MixtureSpec spec;
  spec.samples_per_episode = static_cast<int>(state.range(0));
  spec.mix_block_length = static_cast<int>(state.range(1));
  return spec;
}

void BM_Loader(benchmark::State& state) {
  MixtureOptions options;
  options.spec = Spec(state);
  options.count = kSamples;
  MixtureMemory memory;
  if (!memory.Reserve(options.spec).ok()) state.SkipWithError("no memory");
  const std::vector<MixtureSource>& sources = Sources();
  double read_s = 0;
  double decode_s = 0;
  double starved_s = 0;
  double full_s = 0;
  for (auto _ : state) {
    const auto loader = MixtureLoader::Start(sources, options, &memory).value();
    while (loader->Next().value() != nullptr) {
    }
    loader->Stop();
    for (const StageReport& stage : loader->stages()) {
      (stage.name == "read" ? read_s : decode_s) += stage.busy_s;
      starved_s += stage.wait_in_s;
      full_s += stage.wait_out_s;
    }
  }
  state.SetItemsProcessed(state.iterations() * kSamples);
  const auto share = [](double s) {
    return benchmark::Counter(s / UsableProcessors(),
                              benchmark::Counter::kIsRate);
  };
  state.counters["read"] = share(read_s);
  state.counters["decode"] = share(decode_s);
  state.counters["starved"] = share(starved_s);
  state.counters["full"] = share(full_s);
}

void BM_Limit(benchmark::State& state) {
  MixtureLimitOptions options;
  double limit = 0;
  for (auto _ : state) {
    limit = MixtureDecodeLimit(Sources(), Spec(state), options).value();
  }
  state.counters["items_per_second"] = limit;
}

BENCHMARK(BM_Loader)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->Args({5, 4})
    ->Args({1, 4})
    ->Args({0, 8});
BENCHMARK(BM_Limit)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Args({5, 4})
    ->Args({1, 4})
    ->Args({0, 8});

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
