#include "lib/runner/copy_speed.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>

namespace feedrate {
namespace {

// Larger than a core's share of any cache; small enough to touch quickly.
constexpr size_t kBytes = size_t{32} << 20;
constexpr int kTries = 4;

}  // namespace

double MeasureCopyBytesPerSecond() {
  const std::unique_ptr<char[]> from(new char[kBytes]);
  const std::unique_ptr<char[]> to(new char[kBytes]);
  // Pages must be there before they are timed.
  std::memset(from.get(), 1, kBytes);
  std::memset(to.get(), 2, kBytes);
  double best_s = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.get(), from.get(), kBytes);
    // The copy is not to be left out.
    asm volatile("" : : "r"(to.get()) : "memory");
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, elapsed.count());
  }
  return static_cast<double>(kBytes) / best_s;
}

}  // namespace feedrate
