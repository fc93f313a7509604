#include "lib/machine/reference_speed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/unique_fd.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FEEDRATE_WIDEST_VECTORS \
  __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define FEEDRATE_WIDEST_VECTORS
#endif

namespace feedrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTable = 1024;
constexpr int kFloats = 2048;
constexpr size_t kCopyBytes = 32 << 20;
constexpr size_t kWriteBytes = 1 << 20;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Results go here, so that no work is optimized away.
volatile uint64_t sink;

void Integers(std::vector<uint32_t>* table) {
  uint64_t state = 88172645463325252u;
  uint64_t sum = 0;
  for (int i = 0; i < 20000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint32_t& entry = (*table)[state % kTable];
    if (state & 1024) {
      entry += static_cast<uint32_t>(state);
    } else {
      sum += entry;
    }
  }
  sink = sum;
}

FEEDRATE_WIDEST_VECTORS void MultiplyAdd(const float* x, float* y) {
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < kFloats; ++i) y[i] = y[i] * 0.999f + x[i];
  }
}

struct Workload {
  std::string name;
  // Does one unit of work. False if it failed.
  std::function<bool()> work;
};

// A file that has no name any more. Not valid if the folder cannot be written.
UniqueFd NamelessFile(const std::string& folder) {
  std::string path = absl::StrCat(folder, "/feedrate_reference_XXXXXX");
  UniqueFd file(mkstemp(&path[0]));
  if (file.valid()) unlink(path.c_str());
  return file;
}

}  // namespace

std::vector<ReferenceSpeed> MeasureReferenceSpeeds(
    const ReferenceOptions& options) {
  std::string folder = options.folder;
  if (folder.empty()) {
    const char* const variable = getenv("TMPDIR");
    folder = variable != nullptr ? variable : "/tmp";
  }
  std::vector<uint32_t> table(kTable, 1);
  std::vector<float> x(kFloats, 0.5f);
  std::vector<float> y(kFloats, 1.0f);
  std::vector<char> from(kCopyBytes, 1);
  std::vector<char> to(kCopyBytes, 2);
  const UniqueFd file = NamelessFile(folder);
  const std::vector<Workload> workloads = {
      {"cpu",
       [&table] {
         Integers(&table);
         return true;
       }},
      {"simd",
       [&x, &y] {
         MultiplyAdd(x.data(), y.data());
         sink = static_cast<uint64_t>(y[0]);
         return true;
       }},
      {"memory",
       [&from, &to] {
         std::memcpy(to.data(), from.data(), kCopyBytes);
         sink = static_cast<uint64_t>(to[kCopyBytes / 2]);
         return true;
       }},
      {"disk",
       [&from, &file] {
         return file.valid() &&
                pwrite(file.get(), from.data(), kWriteBytes, 0) ==
                    static_cast<ssize_t>(kWriteBytes) &&
                fdatasync(file.get()) == 0;
       }},
  };
  std::vector<ReferenceSpeed> speeds;
  for (const Workload& workload : workloads) {
    // Warms up, and finds out whether it works.
    if (workload.work()) speeds.push_back({workload.name, {}});
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (ReferenceSpeed& speed : speeds) {
      for (const Workload& workload : workloads) {
        if (workload.name != speed.workload) continue;
        int64_t units = 0;
        const Clock::time_point start = Clock::now();
        do {
          workload.work();
          ++units;
        } while (Since(start) < options.seconds);
        speed.per_s.push_back(static_cast<double>(units) / Since(start));
      }
    }
  }
  return speeds;
}

}  // namespace feedrate
