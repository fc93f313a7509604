#include "lib/adapters/cuda/bench/device.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace feedrate::fused {
namespace {

// Several times the L2 of any GPU: an H200 has 60 MB.
constexpr size_t kFlushBytes = 512u << 20;
constexpr double kWarmUpSeconds = 0.2;

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Timing Summary(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t n = seconds.size();
  return {seconds[n / 2], seconds[n / 10], seconds[n - 1 - n / 10]};
}

}  // namespace

void CheckCuda(cudaError_t error, const char* call, const char* file,
               int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call,
               cudaGetErrorString(error));
  std::exit(2);
}

Timing TimeLaunch(const std::function<void()>& launch, bool cold, int samples) {
  static const auto* const flush = new Buffer<uint8_t>(kFlushBytes);
  const double until = Now() + kWarmUpSeconds;
  while (Now() < until) {
    for (int i = 0; i < 10; ++i) launch();
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  cudaEvent_t start;
  cudaEvent_t end;
  CHECK_CUDA(cudaEventCreate(&start));
  CHECK_CUDA(cudaEventCreate(&end));
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    // The fill also keeps the device busy while the host enqueues what is
    // timed, so that the host's launches are not in the time.
    CHECK_CUDA(cudaMemsetAsync(flush->data(), i, cold ? kFlushBytes : 1 << 22));
    if (!cold) launch();
    CHECK_CUDA(cudaEventRecord(start));
    launch();
    CHECK_CUDA(cudaEventRecord(end));
    CHECK_CUDA(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
    seconds.push_back(milliseconds * 1e-3);
  }
  CHECK_CUDA(cudaEventDestroy(start));
  CHECK_CUDA(cudaEventDestroy(end));
  return Summary(seconds);
}

double CopyBytesPerSecond() {
  const size_t bytes = size_t{4} << 30;
  const Buffer<uint8_t> from(bytes);
  const Buffer<uint8_t> to(bytes);
  const Timing timing = TimeLaunch(
      [&] {
        CHECK_CUDA(cudaMemcpyAsync(to.data(), from.data(), bytes,
                                   cudaMemcpyDeviceToDevice));
      },
      false, 20);
  return 2.0 * static_cast<double>(bytes) / timing.median_s;
}

}  // namespace feedrate::fused
