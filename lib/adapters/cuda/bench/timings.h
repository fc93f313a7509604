// How many images a second each kernel makes, beside what a copy allows.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_TIMINGS_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_TIMINGS_H_

#include <string>

namespace feedrate::fused {

// Prints a table. `limit` is of CopyBytesPerSecond over the bytes that must
// move, each read once and written once. Only of what has `filter` in its name.
void RunTimings(int batch, int samples, const std::string& filter = "");

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_TIMINGS_H_
