// Memory that grows and is used again: on the device, and pinned on the host.
#ifndef FEEDRATE_LIB_LOADER_CUDA_DEVICE_BLOCK_H_
#define FEEDRATE_LIB_LOADER_CUDA_DEVICE_BLOCK_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/cuda/device_memory.h"
#include "lib/base/status_macros.h"

namespace feedrate {

// `Take` and `Give` are CUDA's functions for the kind of memory.
template <cudaError_t (*Take)(void**, size_t), cudaError_t (*Give)(void*)>
class CudaBlock {
 public:
  CudaBlock() = default;
  ~CudaBlock() { Give(data_); }
  CudaBlock(const CudaBlock&) = delete;
  CudaBlock& operator=(const CudaBlock&) = delete;

  // Afterwards there are at least `bytes`; what was there is gone if it grew.
  // Half as much again, so that a slightly larger one is no new beginning.
  // REQUIRES: nothing is under way with what was there.
  absl::Status Reserve(int64_t bytes) {
    return bytes <= bytes_ ? absl::OkStatus()
                           : ReserveExactly(bytes + bytes / 2);
  }
  // Exactly so many if it has fewer, and the first `kept` bytes are still
  // there. For memory that the host sees.
  absl::Status ReserveKeeping(int64_t bytes, int64_t kept) {
    if (bytes <= bytes_) return absl::OkStatus();
    CudaBlock larger;
    RETURN_IF_ERROR(larger.ReserveExactly(bytes));
    if (kept > 0) std::memcpy(larger.data(), data(), kept);
    std::swap(data_, larger.data_);
    std::swap(bytes_, larger.bytes_);
    return absl::OkStatus();
  }
  // The same as Reserve for what does not grow by and by.
  absl::Status ReserveExactly(int64_t bytes) {
    if (bytes <= bytes_) return absl::OkStatus();
    Give(data_);
    data_ = nullptr;
    bytes_ = 0;
    const absl::Status taken =
        CudaStatus(Take(&data_, static_cast<size_t>(bytes)),
                   absl::StrCat(bytes, " bytes"));
    if (taken.ok()) {
      bytes_ = bytes;
    } else {
      // An error that stays would be taken for one of the next launch.
      data_ = nullptr;
      cudaGetLastError();
    }
    return taken;
  }

  uint8_t* data() const { return static_cast<uint8_t*>(data_); }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

inline cudaError_t TakePinned(void** data, size_t bytes) {
  return cudaHostAlloc(data, bytes, cudaHostAllocDefault);
}
inline cudaError_t TakeDevice(void** data, size_t bytes) {
  return cudaMalloc(data, bytes);
}

using PinnedBlock = CudaBlock<TakePinned, cudaFreeHost>;
using DeviceBlock = CudaBlock<TakeDevice, cudaFree>;

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_DEVICE_BLOCK_H_
