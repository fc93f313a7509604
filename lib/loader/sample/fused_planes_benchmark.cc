// Crop, flip, normalization and layout change in one pass, compared with a copy
// of the bytes that it writes, which is the upper limit.
//
//   bazel run //lib/loader/sample:fused_planes_benchmark
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "lib/loader/sample/fused_planes.h"

namespace feedrate {
namespace {

constexpr int kSide = 224;
constexpr int kSourceWidth = 500;
// Larger than any cache, like batches.
constexpr int kImages = 64;

std::vector<float> Batch(int channels) {
  return std::vector<float>(size_t{kImages} * channels * kSide * kSide);
}

void Report(int channels, benchmark::State& state) {
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * 4 * channels * kSide * kSide);
}

void BM_PixelsToPlanes(benchmark::State& state) {
  const int channels = static_cast<int>(state.range(0));
  const bool mirror = state.range(1) != 0;
  const std::vector<uint8_t> pixels(size_t{kSourceWidth} * kSide * channels, 7);
  const std::vector<float> scale(channels, 0.017f);
  const std::vector<float> offset(channels, -2.1f);
  std::vector<float> batch = Batch(channels);
  int64_t i = 0;
  for (auto _ : state) {
    PixelsToPlanes({pixels.data() + 40 * channels, kSourceWidth * channels,
                    kSide, kSide, channels},
                   mirror, scale.data(), offset.data(),
                   &batch[i++ % kImages * channels * kSide * kSide]);
    benchmark::ClobberMemory();
  }
  Report(channels, state);
}
BENCHMARK(BM_PixelsToPlanes)->ArgsProduct({{3, 9, 5}, {0, 1}});

// A table of 256 floats per channel instead of arithmetic.
void BM_Tables(benchmark::State& state) {
  const int channels = static_cast<int>(state.range(0));
  const std::vector<uint8_t> pixels(size_t{kSourceWidth} * kSide * channels, 7);
  std::vector<float> batch = Batch(channels);
  std::vector<float> table(256 * channels, 0.5f);
  int64_t i = 0;
  for (auto _ : state) {
    float* out = &batch[i++ % kImages * channels * kSide * kSide];
    for (int y = 0; y < kSide; ++y) {
      const uint8_t* in = &pixels[size_t{kSourceWidth} * y * channels];
      for (int c = 0; c < channels; ++c) {
        const float* values = &table[256 * c];
        float* to = out + (c * kSide + y) * kSide;
        for (int x = 0; x < kSide; ++x) to[x] = values[in[x * channels + c]];
      }
    }
    benchmark::ClobberMemory();
  }
  Report(channels, state);
}
BENCHMARK(BM_Tables)->Arg(3)->Arg(9);

void BM_Copy(benchmark::State& state) {
  const int channels = static_cast<int>(state.range(0));
  const size_t floats = size_t{kSide} * kSide * channels;
  const std::vector<float> image(floats, 1);
  std::vector<float> batch = Batch(channels);
  int64_t i = 0;
  for (auto _ : state) {
    std::memcpy(&batch[i++ % kImages * floats], image.data(),
                floats * sizeof(float));
    benchmark::ClobberMemory();
  }
  Report(channels, state);
}
BENCHMARK(BM_Copy)->Arg(3)->Arg(9);

}  // namespace
}  // namespace feedrate

BENCHMARK_MAIN();
