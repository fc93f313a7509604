#include "lib/adapters/cuda/staging_ring.h"

#include <cstdint>
#include <memory>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// Calls that may be under way: more than a sample has.
constexpr int64_t kSlots = 256;
constexpr int64_t kAlign = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<StagingRing>> StagingRing::Create(
    int64_t slot_bytes, cudaStream_t stream, DeviceMemory* memory) {
  const int64_t each = (slot_bytes + kAlign - 1) / kAlign * kAlign;
  std::unique_ptr<StagingRing> ring =
      absl::WrapUnique(new StagingRing(each, stream));
  ASSIGN_OR_RETURN(ring->device_,
                   memory->Allocate(each * kSlots, "parameters"));
  void* host = nullptr;
  RETURN_IF_ERROR(
      CudaStatus(cudaMallocHost(&host, each * kSlots), "cudaMallocHost"));
  ring->host_ = static_cast<uint8_t*>(host);
  return ring;
}

StagingRing::~StagingRing() {
  if (host_ != nullptr) cudaFreeHost(host_);
}

StagingRing::Slot StagingRing::Next() {
  if (used_ == kSlots) {
    cudaStreamSynchronize(stream_);
    used_ = 0;
  }
  const int64_t at = used_++ * slot_bytes_;
  return {host_ + at, device_ + at};
}

cudaError_t StagingRing::Send(const Slot& slot, int64_t bytes) {
  return cudaMemcpyAsync(slot.device, slot.host, bytes, cudaMemcpyHostToDevice,
                         stream_);
}

}  // namespace feedrate
