#include "lib/machine/reference_speed.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "absl/status/statusor.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"

namespace feedrate {
namespace {

using Clock = std::chrono::steady_clock;

using Work = bool (ReferenceWork::*)();

constexpr int kTable = 1024;
// Units of `cpu` that take a few milliseconds.
constexpr int kComputeUnits = 30;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Results go here, so that no work is optimized away.
volatile uint64_t sink;

char* NewMemory(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_DONTFORK);
  std::memset(memory, 1, bytes);
  return static_cast<char*>(memory);
}

// A file that has no name any more. Not valid if the folder cannot be written.
UniqueFd NamelessFile(const std::string& folder) {
  const absl::StatusOr<std::string> path =
      MakeTemporaryFile(JoinPath(folder, "feedrate_reference"));
  if (!path.ok()) return UniqueFd();
  UniqueFd file(open(path->c_str(), O_RDWR | O_CLOEXEC));
  unlink(path->c_str());
  return file;
}

}  // namespace

ReferenceWork::ReferenceWork(const Options& options)
    : options_(options),
      table_(kTable, 1),
      memory_(NewMemory(2 * options.copy_bytes)),
      file_(NamelessFile(options.folder)) {}

ReferenceWork::~ReferenceWork() {
  if (memory_ != nullptr) munmap(memory_, 2 * options_.copy_bytes);
}

bool ReferenceWork::Compute() {
  uint64_t state = 88172645463325252u;
  uint64_t sum = 0;
  for (int i = 0; i < 20000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint32_t& entry = table_[state % kTable];
    if (state & 1024) {
      entry += static_cast<uint32_t>(state);
    } else {
      sum += entry;
    }
  }
  sink = sum;
  return true;
}

bool ReferenceWork::Copy() {
  if (memory_ == nullptr) return false;
  char* const to = memory_ + options_.copy_bytes;
  std::memcpy(to, memory_, options_.copy_bytes);
  sink = static_cast<uint64_t>(to[options_.copy_bytes / 2]);
  return true;
}

bool ReferenceWork::Write() {
  return file_.valid() && memory_ != nullptr &&
         pwrite(file_.get(), memory_, options_.write_bytes, 0) ==
             static_cast<ssize_t>(options_.write_bytes) &&
         fdatasync(file_.get()) == 0;
}

std::vector<ReferenceWork::Time> ReferenceWork::TimeSecondPasses(
    const std::vector<int>& cpus) {
  cpu_set_t before;
  const bool is_pinned =
      !cpus.empty() && sched_getaffinity(0, sizeof(before), &before) == 0;
  if (is_pinned) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
  }
  struct Pass {
    const char* workload;
    Work work;
    int units;
  };
  std::vector<Time> times;
  for (const Pass& pass : {Pass{"cpu", &ReferenceWork::Compute, kComputeUnits},
                           Pass{"memory", &ReferenceWork::Copy, 1},
                           Pass{"disk", &ReferenceWork::Write, 1}}) {
    const auto run = [this, &pass] {
      bool works = true;
      for (int i = 0; i < pass.units; ++i) works = (this->*pass.work)();
      return works;
    };
    if (!run()) continue;
    const Clock::time_point start = Clock::now();
    const bool works = run();
    if (works) times.push_back({pass.workload, Since(start)});
  }
  if (is_pinned) sched_setaffinity(0, sizeof(before), &before);
  return times;
}

}  // namespace feedrate
