#include "lib/adapters/worker/host_probe.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace feedrate {

double HostProbe::CopyBytesPerSecond() {
  constexpr size_t kBytes = size_t{8} << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes);
  int64_t least = MonotonicNs();
  for (int pass = 0; pass < 3; ++pass) {
    const int64_t begin = MonotonicNs();
    std::memcpy(to.data(), from.data(), kBytes);
    // The copy is not to be left out.
    asm volatile("" : : "r"(to.data()) : "memory");
    least = std::min(least, MonotonicNs() - begin);
  }
  return 2.0 * kBytes /
         (static_cast<double>(std::max<int64_t>(least, 1)) * 1e-9);
}

}  // namespace feedrate
