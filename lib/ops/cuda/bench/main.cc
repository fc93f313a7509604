// cuda_bench: compares every kernel with the host, then times them.
//
//   cuda_bench [--batch=256] [--samples=41] [--seed=1] [--only=check|time]
//       [--filter=TEXT]
//
// --filter times only kernels with TEXT in their name.
//
// Needs only the driver. Exit codes: 0 success, 1 wrong argument, 2 a CUDA call
// failed, 3 a kernel is wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/ops/cuda/bench/samples.h"

namespace {

struct Flags {
  int batch = 256;
  int samples = 41;
  int seed = 1;
  std::string only;
  std::string filter;
};

bool ReadNumber(const char* argument, const char* name, int* value) {
  const size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0) return false;
  *value = std::atoi(argument + length);
  return *value > 0;
}

bool ReadFlag(const char* argument, Flags* flags) {
  if (std::strncmp(argument, "--only=", 7) == 0) {
    flags->only = argument + 7;
    return flags->only == "check" || flags->only == "time";
  }
  if (std::strncmp(argument, "--filter=", 9) == 0) {
    flags->filter = argument + 9;
    return true;
  }
  return ReadNumber(argument, "--batch=", &flags->batch) ||
         ReadNumber(argument, "--samples=", &flags->samples) ||
         ReadNumber(argument, "--seed=", &flags->seed);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (ReadFlag(argv[i], &flags)) continue;
    std::fprintf(stderr,
                 "%s: not understood. Flags: --batch=N --samples=N --seed=N "
                 "--only=check|time --filter=TEXT\n",
                 argv[i]);
    return 1;
  }
  cudaDeviceProp properties;
  CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors, %d MB of L2\n", properties.name,
              properties.multiProcessorCount, properties.l2CacheSize >> 20);
  int failed = 0;
  if (flags.only != "time") {
    failed = feedrate::fused::RunChecks(flags.seed);
    std::printf("%d checks failed\n", failed);
  }
  if (flags.only != "check") {
    feedrate::fused::RunTimings(flags.batch, flags.samples, flags.filter);
  }
  return failed == 0 ? 0 : 3;
}
