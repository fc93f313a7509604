#include "lib/loader/cuda/cuda_copy.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/device_block.h"

namespace feedrate {
namespace {

// One that the consumer has, one that is being filled.
constexpr int kSlots = 2;

class PinnedPages : public MemoryBlock {
 public:
  float* data() const override {
    return reinterpret_cast<float*>(block.data());
  }
  PinnedBlock block;
};

class PinnedAllocator : public BatchMemory {
 public:
  absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(size_t bytes) override {
    auto pages = std::make_unique<PinnedPages>();
    RETURN_IF_ERROR(pages->block.Reserve(static_cast<int64_t>(bytes)));
    return pages;
  }
};

class StreamCopy : public DeviceCopy {
 public:
  explicit StreamCopy(cudaStream_t stream) : stream_(stream), blocks_(kSlots) {}
  ~StreamCopy() override { cudaStreamDestroy(stream_); }

  int slots() const override { return kSlots; }
  absl::StatusOr<const float*> Copy(const float* host, size_t bytes,
                                    int slot) override {
    RETURN_IF_ERROR(blocks_[slot].Reserve(static_cast<int64_t>(bytes)));
    RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(blocks_[slot].data(), host, bytes,
                                   cudaMemcpyHostToDevice, stream_),
                   "cudaMemcpyAsync"));
    RETURN_IF_ERROR(
        CudaStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"));
    return reinterpret_cast<const float*>(blocks_[slot].data());
  }

 private:
  const cudaStream_t stream_;
  std::vector<DeviceBlock> blocks_;
};

absl::Status HasDevice() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return absl::OkStatus();
  return absl::FailedPreconditionError("there is no GPU here; use device cpu");
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchMemory>> PinnedMemory() {
  RETURN_IF_ERROR(HasDevice());
  return std::make_unique<PinnedAllocator>();
}

absl::StatusOr<std::unique_ptr<DeviceCopy>> CudaCopy() {
  RETURN_IF_ERROR(HasDevice());
  cudaStream_t stream = nullptr;
  RETURN_IF_ERROR(
      CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                 "cudaStreamCreateWithFlags"));
  return std::make_unique<StreamCopy>(stream);
}

}  // namespace feedrate
