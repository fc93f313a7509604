#include "lib/loader/cuda/cuda_copy.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/cuda/device_memory.h"
#include "lib/base/status_macros.h"
#include "lib/loader/cuda/device_block.h"

namespace feedrate {
namespace {

// One that the consumer has, one that is being filled.
constexpr int kSlots = 2;
// What the speed of copies is measured with.
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
  // Not to be found again by the next call that looks for errors.
  cudaGetLastError();
  return absl::FailedPreconditionError(absl::StrCat("there is no GPU here (",
                                                    cudaGetErrorString(error),
                                                    "); use device cpu"));
}

// A stream, and an event to wait for what it does by sleeping: a thread that
// spins takes a processor from those that decode.
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
    // Whatever failed: nobody's memory is in use when this is gone.
    if (stream_ != nullptr) cudaStreamSynchronize(stream_);
    if (end_ != nullptr) cudaEventDestroy(end_);
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  // Copies and waits. The event, not the stream, is waited for.
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

  // Of the last copy. REQUIRES: events with times.
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
  // Ends, with what it does, before the memory that it copies to.
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

}  // namespace feedrate
