// Images per second of the loader: files, memory, nine channels; crop 224,
// flip, normalization, batches of 256 (nine channels: 64).
//
//   bazel run //lib/loader:loader_benchmark
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "lib/loader/loader.h"
#include "lib/loader/source.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/load_images.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

constexpr int64_t kImages = 500;

const std::string& Folder() {
  static const auto* const folder = [] {
    auto* path = new std::string(NewTestFolder());
    ParallelFor(kImages, 0, [path](int64_t i) {
      WriteTestFile(*path, SyntheticName(i), SyntheticJpeg(1, i));
    });
    return path;
  }();
  return *folder;
}

const Corpus& Images(int channels) {
  static const auto* const rgb = [] {
    LoadRequest request;
    request.dataset = Folder();
    return new Corpus(std::move(LoadImages(request).value().corpus));
  }();
  static const auto* const nine = [] {
    CorpusForm form;
    form.channels = 9;
    return new Corpus(ConvertCorpus(*rgb, form, 0).value());
  }();
  return channels == 9 ? *nine : *rgb;
}

LoaderOptions Options(const benchmark::State& state, int channels) {
  LoaderOptions options;
  options.workers = static_cast<int>(state.range(0));
  options.recipe.channels = channels;
  options.batch_size = channels == 9 ? 64 : 256;
  TransformSpec flip;
  flip.native_op = "cv::flip";
  flip.params = {"flip_code=1"};
  options.recipe.steps = {{{flip}, 1}};
  return options;
}

void DropFromCache(const Source& source) {
  for (int64_t i = 0; i < source.size(); ++i) {
    const int fd = open(source.Place(i).path, O_RDONLY);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

void RunEpochs(benchmark::State& state, std::unique_ptr<Source> source,
               const LoaderOptions& options, bool cold = false) {
  const auto loader = Loader::Create(std::move(source), options).value();
  int64_t images = 0;
  std::map<std::string, double> busy_s;
  for (auto _ : state) {
    if (cold) {
      state.PauseTiming();
      DropFromCache(loader->source());
      state.ResumeTiming();
    }
    const auto epoch = loader->StartEpoch(0, {0, 1000}).value();
    while (const LoaderBatch* batch = epoch->Next().value())
      images += batch->size;
    epoch->Stop();
    for (const StageReport& stage : epoch->stages()) {
      busy_s[stage.name] += stage.busy_s;
    }
  }
  state.SetItemsProcessed(images);
  for (const auto& [name, busy] : busy_s) {
    state.counters[name + "_us"] = busy / images * 1e6;
  }
}

void BM_Files(benchmark::State& state) {
  LoaderOptions options = Options(state, 3);
  options.read_ahead.method = static_cast<ReadMethod>(state.range(1));
  RunEpochs(state, FolderSource(Folder()).value(), options,
            state.range(2) != 0);
}
BENCHMARK(BM_Files)
    ->ArgNames({"workers", "read", "cold"})
    ->Args({1, 0, 0})
    ->Args({2, 0, 0})
    ->Args({2, 1, 0})
    ->Args({2, 2, 0})
    ->Args({2, 0, 1})
    ->Args({2, 1, 1})
    ->Args({2, 2, 1})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

void BM_MappedFiles(benchmark::State& state) {
  RunEpochs(state, FolderSource(Folder(), FileAccess::kMap).value(),
            Options(state, 3));
}
BENCHMARK(BM_MappedFiles)
    ->Arg(2)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

void BM_Memory(benchmark::State& state) {
  const int channels = static_cast<int>(state.range(1));
  RunEpochs(state, MemorySource(Images(channels)).value(),
            Options(state, channels));
}
BENCHMARK(BM_Memory)
    ->ArgNames({"workers", "channels"})
    ->Args({1, 3})
    ->Args({2, 3})
    ->Args({2, 9})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
