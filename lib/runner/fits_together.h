// Whether the libraries of one transform can be ready at the same time.
#ifndef FEEDRATE_LIB_RUNNER_FITS_TOGETHER_H_
#define FEEDRATE_LIB_RUNNER_FITS_TOGETHER_H_

#include <cstdint>
#include <vector>

#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// A CUDA context with its kernels, what flushes the caches, and some outputs.
constexpr int64_t kGpuBytesOfAnyChild = int64_t{2} << 30;

// What a child of `job` will take of its own, roughly: a library that wants
// objects of its own (layout PIL) copies the `corpus_bytes` of its inputs; any
// other works on the shared ones.
int64_t OwnBytes(const Catalogue& catalogue, const Job& job,
                 int64_t corpus_bytes);

// Whether children that take so much fit into `available_bytes` together, with
// some to spare.
bool FitTogether(const std::vector<int64_t>& own_bytes,
                 int64_t available_bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_FITS_TOGETHER_H_
