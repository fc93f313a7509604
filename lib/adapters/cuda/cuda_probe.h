// A probe that times a CUDA device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/ops/cuda/cuda_device.h"

namespace feedrate {

// Time and clocks of a CUDA device, by events on one stream. Throws
// std::runtime_error if a CUDA call fails.
class CudaProbe : public DeviceProbe {
 public:
  // On the first device. `memory` must outlive it, and is what Peaks reports;
  // the probe's own memory for flushing is not included.
  static absl::StatusOr<std::unique_ptr<CudaProbe>> Create(
      const DeviceMemory* memory);
  ~CudaProbe() override;

  cudaStream_t stream() const { return stream_; }

  void Flush() override;
  void Begin() override;
  double End() override;
  // Memory is allocated once, when a transform is prepared.
  void ResetPeaks() override {}
  Memory Peaks() override { return {memory_->bytes(), memory_->bytes()}; }
  double CopyBytesPerSecond() override;
  std::string pci_bus_id() const override { return bus_; }

 private:
  explicit CudaProbe(const DeviceMemory* memory) : memory_(memory) {}

  const DeviceMemory* const memory_;
  DeviceMemory own_;
  uint8_t* other_data_ = nullptr;
  int64_t other_bytes_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::string bus_;
};

}  // namespace feedrate
