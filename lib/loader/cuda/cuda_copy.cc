#include "lib/loader/cuda/cuda_copy.h"

#include "absl/status/status.h"

#if defined(FEEDRATE_CUDA)
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/ops/cuda/cuda_device.h"
#endif

namespace feedrate {

#if defined(FEEDRATE_CUDA)

namespace {

// One buffer for the consumer, one being filled.
constexpr int kSlots = 2;
// Size and number of copies for measuring the speed.
constexpr int64_t kTestBytes = int64_t{64} << 20;
constexpr int kTestCopies = 6;

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
    RETURN_IF_ERROR(pages->block.ReserveExactly(static_cast<int64_t>(bytes)));
    return pages;
  }
};

absl::Status HasDevice() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return absl::OkStatus();
  // Clears the error, so that the next call does not report it.
  cudaGetLastError();
  return absl::FailedPreconditionError(absl::StrCat("there is no GPU here (",
                                                    cudaGetErrorString(error),
                                                    "); use device cpu"));
}

// A stream, and an event that waits by sleeping: a spinning thread would take a
// processor from those that decode.
class CopyStream {
 public:
  static absl::StatusOr<std::unique_ptr<CopyStream>> Create(unsigned flags) {
    RETURN_IF_ERROR(HasDevice());
    std::unique_ptr<CopyStream> made = absl::WrapUnique(new CopyStream());
    RETURN_IF_ERROR(CudaStatus(
        cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags"));
    RETURN_IF_ERROR(CudaStatus(cudaEventCreateWithFlags(&made->begin_, flags),
                               "cudaEventCreate"));
    RETURN_IF_ERROR(CudaStatus(cudaEventCreateWithFlags(&made->end_, flags),
                               "cudaEventCreate"));
    return made;
  }
  ~CopyStream() {
    // After any failure: no memory may be in use when this is destroyed.
    if (stream_ != nullptr) cudaStreamSynchronize(stream_);
    if (end_ != nullptr) cudaEventDestroy(end_);
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  // Copies and waits for the event, not for the stream.
  absl::Status Copy(void* to, const void* from, size_t bytes) {
    RETURN_IF_ERROR(
        CudaStatus(cudaEventRecord(begin_, stream_), "cudaEventRecord"));
    RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync"));
    RETURN_IF_ERROR(
        CudaStatus(cudaEventRecord(end_, stream_), "cudaEventRecord"));
    return CudaStatus(cudaEventSynchronize(end_), "the copy of a batch");
  }

  // Seconds of the last copy. REQUIRES: events with times.
  absl::StatusOr<double> Seconds() const {
    float milliseconds = 0;
    RETURN_IF_ERROR(
        CudaStatus(cudaEventElapsedTime(&milliseconds, begin_, end_),
                   "cudaEventElapsedTime"));
    return milliseconds * 1e-3;
  }

 private:
  CopyStream() = default;

  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

class StreamCopy : public DeviceCopy {
 public:
  explicit StreamCopy(std::unique_ptr<CopyStream> stream)
      : blocks_(kSlots), stream_(std::move(stream)) {}

  int slots() const override { return kSlots; }
  absl::Status Reserve(size_t bytes) override {
    for (DeviceBlock& block : blocks_) {
      RETURN_IF_ERROR(block.ReserveExactly(static_cast<int64_t>(bytes)));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<const float*> Copy(const float* host, size_t bytes,
                                    int slot) override {
    DeviceBlock& block = blocks_[slot];
    RETURN_IF_ERROR(block.ReserveExactly(static_cast<int64_t>(bytes)));
    RETURN_IF_ERROR(stream_->Copy(block.data(), host, bytes));
    return reinterpret_cast<const float*>(block.data());
  }
  int64_t device_bytes() const override {
    int64_t bytes = 0;
    for (const DeviceBlock& block : blocks_) bytes += block.bytes();
    return bytes;
  }

 private:
  std::vector<DeviceBlock> blocks_;
  // Destroyed, after finishing its work, before the memory that it copies to.
  std::unique_ptr<CopyStream> stream_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchMemory>> PinnedMemory() {
  RETURN_IF_ERROR(HasDevice());
  return std::make_unique<PinnedAllocator>();
}

absl::StatusOr<std::unique_ptr<DeviceCopy>> CudaCopy() {
  ASSIGN_OR_RETURN(
      std::unique_ptr<CopyStream> stream,
      CopyStream::Create(cudaEventBlockingSync | cudaEventDisableTiming));
  return std::make_unique<StreamCopy>(std::move(stream));
}

absl::StatusOr<double> CopyBytesPerSecond() {
  PinnedBlock host;
  DeviceBlock device;
  ASSIGN_OR_RETURN(const std::unique_ptr<CopyStream> stream,
                   CopyStream::Create(cudaEventDefault));
  RETURN_IF_ERROR(host.ReserveExactly(kTestBytes));
  RETURN_IF_ERROR(device.ReserveExactly(kTestBytes));
  std::memset(host.data(), 1, kTestBytes);
  double least_s = 1e9;
  for (int i = 0; i < kTestCopies; ++i) {
    RETURN_IF_ERROR(stream->Copy(device.data(), host.data(), kTestBytes));
    ASSIGN_OR_RETURN(const double seconds, stream->Seconds());
    least_s = std::min(least_s, seconds);
  }
  return static_cast<double>(kTestBytes) / std::max(least_s, 1e-9);
}

#else  // What a program is told that was built without CUDA.

namespace {

absl::Status BuiltWithout() {
  return absl::FailedPreconditionError(
      "this worker was built without CUDA; build it with --config=cuda, or use "
      "device cpu");
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchMemory>> PinnedMemory() {
  return BuiltWithout();
}

absl::StatusOr<std::unique_ptr<DeviceCopy>> CudaCopy() {
  return BuiltWithout();
}

absl::StatusOr<double> CopyBytesPerSecond() { return BuiltWithout(); }

#endif

}  // namespace feedrate
