// What a job has taken of a device, decoders' own memory included.
#ifndef FEEDRATE_LIB_LOADER_NVDEC_TAKEN_MEMORY_H_
#define FEEDRATE_LIB_LOADER_NVDEC_TAKEN_MEMORY_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace feedrate {

// Sessions of NVDEC take memory that they do not tell of, so what is missing
// from the device since this was made is taken for the job's: right where
// nobody else uses the device. Not thread-safe.
class TakenMemory {
 public:
  TakenMemory() : free_at_first_(Free()) {}

  // The most at any look so far.
  int64_t Look() {
    most_ = std::max(most_, free_at_first_ - Free());
    return most_;
  }
  void Reset() { most_ = 0; }

 private:
  static int64_t Free() {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    return static_cast<int64_t>(free_bytes);
  }

  const int64_t free_at_first_;
  int64_t most_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_NVDEC_TAKEN_MEMORY_H_
