// Compares the read-ahead methods alone: files of ImageNet size, first from the
// page cache, then from the disk. Two threads sum up the bytes, which is far
// less work than decoding.
//
//   bazel run //lib/loader/read_ahead:read_ahead_benchmark
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "lib/loader/read_ahead/read_ahead.h"
#include "lib/loader/source.h"
#include "lib/loader/testing/test_files.h"

namespace feedrate {
namespace {

constexpr int kFiles = 500;
constexpr int kBytes = 110000;

const std::vector<std::string>& Files() {
  static const auto* const files = [] {
    const std::string folder = NewTestFolder();
    auto* paths = new std::vector<std::string>;
    for (int i = 0; i < kFiles; ++i) {
      paths->push_back(WriteTestFile(folder, absl::StrCat(i, ".jpg"),
                                     std::string(kBytes, '0' + i % 10)));
      const int fd = open(paths->back().c_str(), O_RDONLY);
      fsync(fd);
      close(fd);
    }
    return paths;
  }();
  return *files;
}

void DropFromCache() {
  for (const std::string& path : Files()) {
    const int fd = open(path.c_str(), O_RDONLY);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

void ReadAllOf(benchmark::State& state, ReadAheadOptions options,
               FileAccess access, bool cold) {
  std::vector<ListedFile> listed;
  for (const std::string& path : Files()) listed.push_back({path, kBytes});
  const std::unique_ptr<Source> source = ListSource(listed, access);
  const ItemOrder order(0, kFiles, kFiles, false, 0, 0);
  for (auto _ : state) {
    if (cold) {
      state.PauseTiming();
      DropFromCache();
      state.ResumeTiming();
    }
    auto reads = StartReadAhead(options, *source, order);
    if (!reads.ok()) {
      state.SkipWithError(std::string(reads.status().message()).c_str());
      return;
    }
    std::atomic<int64_t> next{0};
    const auto use = [&] {
      ReadBuffer own;
      for (int64_t p; (p = next.fetch_add(1)) < order.count();) {
        const auto bytes = (*reads)->Take(p, &own);
        benchmark::DoNotOptimize(
            std::accumulate(bytes->begin(), bytes->end(), 0));
        (*reads)->Release(p);
      }
    };
    std::thread other(use);
    use();
    other.join();
    (*reads)->Stop();
  }
  state.SetItemsProcessed(state.iterations() * kFiles);
  state.SetBytesProcessed(state.iterations() * int64_t{kFiles} * kBytes);
}

void Register(const std::string& name, const ReadAheadOptions& options,
              FileAccess access = FileAccess::kRead) {
  for (const bool cold : {false, true}) {
    benchmark::RegisterBenchmark(
        absl::StrCat(name, cold ? "/cold" : "/warm").c_str(), ReadAllOf,
        options, access, cold)
        ->UseRealTime()
        ->MeasureProcessCPUTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  using feedrate::ReadMethod;
  feedrate::Register("inline", {ReadMethod::kInline, 1, 1});
  feedrate::Register("inline_mmap", {ReadMethod::kInline, 1, 1},
                     feedrate::FileAccess::kMap);
  feedrate::Register("threads:1", {ReadMethod::kThreads, 1, 32});
  feedrate::Register("threads:4", {ReadMethod::kThreads, 4, 32});
  feedrate::Register("io_uring:8", {ReadMethod::kIoUring, 1, 8});
  feedrate::Register("io_uring:32", {ReadMethod::kIoUring, 1, 32});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
