#include "lib/gate/duel/reference_work.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

constexpr size_t kMemoryBytes = 8 << 20;
constexpr size_t kDiskBytes = 256 << 10;
constexpr int kRounds = 2'000'000;

volatile uint64_t sink;

void Compute() {
  uint64_t x = 88172645463325252;
  for (int i = 0; i < kRounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  sink = x;
}

// Twice kMemoryBytes, in use. Null if there is not as much.
char* NewMemory() {
  void* const memory = mmap(nullptr, 2 * kMemoryBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, 2 * kMemoryBytes, MADV_DONTFORK);
  std::memset(memory, 1, 2 * kMemoryBytes);
  return static_cast<char*>(memory);
}

double SecondsOf(const std::function<void()>& work) {
  work();
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

ReferenceWork::ReferenceWork(std::vector<int> cpus)
    : cpus_(std::move(cpus)), memory_(NewMemory()) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = absl::StrCat(folder != nullptr ? folder : "/tmp",
                                  "/duel_reference_XXXXXX");
  // Commands that run later do not inherit it.
  fd_ = mkostemp(&path[0], O_CLOEXEC);
  if (fd_ >= 0) unlink(path.c_str());
}

ReferenceWork::~ReferenceWork() {
  if (fd_ >= 0) close(fd_);
  if (memory_ != nullptr) munmap(memory_, 2 * kMemoryBytes);
}

std::vector<ReferenceWork::Result> ReferenceWork::Run() {
  cpu_set_t before;
  const bool is_pinned =
      !cpus_.empty() && sched_getaffinity(0, sizeof(before), &before) == 0;
  if (is_pinned) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus_) CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
  }
  std::vector<Result> results;
  results.push_back({"cpu", SecondsOf(Compute)});
  if (memory_ != nullptr) {
    results.push_back({"memory", SecondsOf([this] {
                         std::memcpy(memory_ + kMemoryBytes, memory_,
                                     kMemoryBytes);
                         sink = memory_[kMemoryBytes];
                       })});
  }
  bool is_written = fd_ >= 0 && memory_ != nullptr;
  const double disk = SecondsOf([this, &is_written] {
    is_written = is_written &&
                 pwrite(fd_, memory_, kDiskBytes, 0) ==
                     static_cast<ssize_t>(kDiskBytes) &&
                 fdatasync(fd_) == 0;
  });
  if (is_written) results.push_back({"disk", disk});
  if (is_pinned) sched_setaffinity(0, sizeof(before), &before);
  return results;
}

}  // namespace feedrate
