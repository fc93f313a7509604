// Small blocks on their way to the device: pinned, so that the copy is part of
// the stream and nobody waits.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_STAGING_RING_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_STAGING_RING_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "lib/adapters/cuda/device_memory.h"

namespace feedrate {

// Blocks of one size, used in turns. Not thread-safe.
class StagingRing {
 public:
  struct Slot {
    uint8_t* host = nullptr;
    uint8_t* device = nullptr;
  };

  // `memory` outlives it.
  static absl::StatusOr<std::unique_ptr<StagingRing>> Create(
      int64_t slot_bytes, cudaStream_t stream, DeviceMemory* memory);
  ~StagingRing();

  // A block that the device is done with: waits for the stream when all of them
  // have been used since the last wait.
  Slot Next();
  // Enqueues the copy of its first bytes.
  cudaError_t Send(const Slot& slot, int64_t bytes);

 private:
  StagingRing(int64_t slot_bytes, cudaStream_t stream)
      : slot_bytes_(slot_bytes), stream_(stream) {}

  const int64_t slot_bytes_;
  const cudaStream_t stream_;
  uint8_t* host_ = nullptr;
  uint8_t* device_ = nullptr;
  int64_t used_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_STAGING_RING_H_
