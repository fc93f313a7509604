// Compares every kernel with the host, on images of different and odd sizes.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKS_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKS_H_

namespace feedrate::fused {

// Prints one line per check, `ok` or `FAIL`, with the largest difference.
// Returns the number of failures.
int RunChecks(unsigned seed);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKS_H_
