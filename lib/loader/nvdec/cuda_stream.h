// A stream with an owner.
#ifndef FEEDRATE_LIB_LOADER_NVDEC_CUDA_STREAM_H_
#define FEEDRATE_LIB_LOADER_NVDEC_CUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/cuda/device_memory.h"

namespace feedrate {

class CudaStream {
 public:
  static absl::StatusOr<CudaStream> Create() {
    CudaStream stream;
    const absl::Status made = CudaStatus(
        cudaStreamCreateWithFlags(&stream.stream_, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags");
    if (!made.ok()) return made;
    return stream;
  }

  CudaStream(CudaStream&& other)
      : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&&) = delete;
  // Waits for what is on it.
  ~CudaStream() {
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  cudaStream_t get() const { return stream_; }

 private:
  CudaStream() = default;

  cudaStream_t stream_ = nullptr;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_NVDEC_CUDA_STREAM_H_
