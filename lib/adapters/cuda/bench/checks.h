// Every kernel against the host, on images of different and odd sizes.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKS_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKS_H_

namespace feedrate::fused {

// Prints a line for each, `ok` or `FAIL` with the largest difference. Returns
// how many failed.
int RunChecks(unsigned seed);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_CHECKS_H_
