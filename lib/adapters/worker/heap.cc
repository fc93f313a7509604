#include "lib/adapters/worker/heap.h"

#include <cstdlib>

namespace feedrate {

void SettleHeap() {
  // Just below the most that glibc raises its threshold to (32 MiB). Volatile,
  // or the compiler would see that nothing is gained.
  constexpr size_t kBytes = size_t{31} << 20;
  void* volatile block = std::malloc(kBytes);
  std::free(block);
}

}  // namespace feedrate
