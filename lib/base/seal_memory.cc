#include "lib/base/seal_memory.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace feedrate {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kAgain = std::chrono::milliseconds(10);

}  // namespace

bool SealMemory(int fd) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    if (errno != EBUSY || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kAgain);
  }
  return true;
}

}  // namespace feedrate
