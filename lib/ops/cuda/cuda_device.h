// A CUDA device: errors, memory and streams.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {

// OK, or Internal with the call and CUDA's message; ResourceExhausted if memory
// ran out.
absl::Status CudaStatus(cudaError_t error, const std::string& call);

// Makes a device the current one of this thread, while it lives.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess || before_ == device) {
      before_ = -1;
    }
    cudaSetDevice(device);
  }
  ~OnDevice() {
    if (before_ >= 0) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = -1;
};

// Free memory of the current device, such as `1.25 GiB of 139.80 GiB free`.
std::string FreeMemoryText();

// Device memory of one job, counted, and freed with the object. Not
// thread-safe.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // ResourceExhausted says how much was requested for `what` and how much was
  // free. A failed call leaves the device unchanged.
  absl::StatusOr<uint8_t*> Allocate(int64_t bytes, const std::string& what);

  int64_t bytes() const { return bytes_; }

 private:
  std::vector<void*> blocks_;
  int64_t bytes_ = 0;
};

// Reusable memory that grows: on the device, or pinned on the host.

// `Take` and `Give` are CUDA's functions for the kind of memory.
template <cudaError_t (*Take)(void**, size_t), cudaError_t (*Give)(void*)>
class CudaBlock {
 public:
  CudaBlock() = default;
  ~CudaBlock() { Give(data_); }
  CudaBlock(const CudaBlock&) = delete;
  CudaBlock& operator=(const CudaBlock&) = delete;

  // Ensures at least `bytes` bytes; growing discards the content. Allocates
  // half as much again, so that slightly larger requests need no new
  // allocation. REQUIRES: the old content is not in use.
  absl::Status Reserve(int64_t bytes) {
    return bytes <= bytes_ ? absl::OkStatus()
                           : ReserveExactly(bytes + bytes / 2);
  }
  // Ensures `bytes` bytes, without extra, and keeps the first `kept` bytes. For
  // host memory.
  absl::Status ReserveKeeping(int64_t bytes, int64_t kept) {
    if (bytes <= bytes_) return absl::OkStatus();
    CudaBlock larger;
    RETURN_IF_ERROR(larger.ReserveExactly(bytes));
    if (kept > 0) std::memcpy(larger.data(), data(), kept);
    std::swap(data_, larger.data_);
    std::swap(bytes_, larger.bytes_);
    return absl::OkStatus();
  }
  // Like Reserve, without extra, for sizes that do not grow gradually.
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
      // An uncleared error would be attributed to the next launch.
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

// A stream with an owner.
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
  // Waits for its work.
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

// Memory that a job uses on a device, including decoder sessions. NVDEC
// sessions do not report their memory, so all memory taken since construction
// is attributed to the job: correct if nobody else uses the device. Not
// thread-safe.
class TakenMemory {
 public:
  TakenMemory() : free_at_first_(Free()) {}

  // Returns the maximum over all calls so far.
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
