#include "lib/loader/cuda/device_blocks.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/ops/cuda/cuda_device.h"

namespace feedrate {
namespace {

// Memory of one batch, and what the streams that use it had to do when they
// were done with it.
class BatchBlock : public MemoryBlock {
 public:
  explicit BatchBlock(int device) : device_(device) {}
  ~BatchBlock() override { WaitUntilIdle(); }

  absl::Status Reserve(size_t bytes) {
    const OnDevice on(device_);
    return block_.ReserveExactly(static_cast<int64_t>(bytes));
  }
  float* data() const override {
    return reinterpret_cast<float*>(block_.data());
  }

  void UsedBy(void* stream) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const OnDevice on(device_);
    const auto user = static_cast<cudaStream_t>(stream);
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaEvent_t event = nullptr;
    // An event of a stream that is being captured belongs to the graph.
    if (cudaStreamIsCapturing(user, &capture) == cudaSuccess &&
        capture == cudaStreamCaptureStatusNone &&
        cudaEventCreateWithFlags(
            &event, cudaEventBlockingSync | cudaEventDisableTiming) ==
            cudaSuccess) {
      uses_.push_back(event);
      if (cudaEventRecord(event, user) == cudaSuccess) return;
    }
    cudaGetLastError();
    unknown_use_ = true;
  }
  bool busy() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (unknown_use_) return true;
    const bool is_busy = std::any_of(
        uses_.begin(), uses_.end(),
        [](cudaEvent_t use) { return cudaEventQuery(use) != cudaSuccess; });
    // Not to be taken for the error of a later call.
    if (is_busy) cudaGetLastError();
    return is_busy;
  }
  void WaitUntilIdle() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const cudaEvent_t use : uses_) {
      unknown_use_ |= cudaEventSynchronize(use) != cudaSuccess;
      cudaEventDestroy(use);
    }
    uses_.clear();
    if (!unknown_use_) return;
    const OnDevice on(device_);
    cudaDeviceSynchronize();
    cudaGetLastError();
    unknown_use_ = false;
  }

 private:
  DeviceBlock block_;
  const int device_;
  mutable std::mutex mutex_;
  std::vector<cudaEvent_t> uses_;
  // A stream could not say when it is done.
  bool unknown_use_ = false;
};

}  // namespace

DeviceBlocks::DeviceBlocks() {
  // Without a device, the first allocation says so.
  if (cudaGetDevice(&device_) != cudaSuccess) cudaGetLastError();
}

absl::StatusOr<std::unique_ptr<MemoryBlock>> DeviceBlocks::Allocate(
    size_t bytes) {
  auto block = std::make_unique<BatchBlock>(device_);
  RETURN_IF_ERROR(block->Reserve(bytes));
  return block;
}

}  // namespace feedrate
