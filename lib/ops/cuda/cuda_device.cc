#include "lib/ops/cuda/cuda_device.h"

#include "absl/strings/str_format.h"

namespace feedrate {
namespace {

std::string Gibibytes(double bytes) {
  return absl::StrFormat("%.2f GiB", bytes / (1 << 30));
}

}  // namespace

std::string FreeMemoryText() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
    return "what is free is not known";
  }
  return absl::StrCat(Gibibytes(static_cast<double>(free_bytes)), " of ",
                      Gibibytes(static_cast<double>(total_bytes)), " free");
}

absl::Status CudaStatus(cudaError_t error, const std::string& call) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string text =
      absl::StrCat("CUDA: ", call, ": ", cudaGetErrorString(error));
  if (error == cudaErrorMemoryAllocation) {
    // Otherwise the next call would report it.
    cudaGetLastError();
    return absl::ResourceExhaustedError(
        absl::StrCat(text, "; ", FreeMemoryText()));
  }
  return absl::InternalError(text);
}

DeviceMemory::~DeviceMemory() {
  for (void* block : blocks_) cudaFree(block);
}

absl::StatusOr<uint8_t*> DeviceMemory::Allocate(int64_t bytes,
                                                const std::string& what) {
  void* block = nullptr;
  const cudaError_t error = cudaMalloc(&block, bytes);
  if (error == cudaErrorMemoryAllocation) {
    // Otherwise the next call would report it.
    cudaGetLastError();
    return absl::ResourceExhaustedError(absl::StrCat(
        "CUDA out of memory: ", Gibibytes(static_cast<double>(bytes)),
        " asked for ", what, ", ", FreeMemoryText()));
  }
  RETURN_IF_ERROR(CudaStatus(error, "cudaMalloc"));
  blocks_.push_back(block);
  bytes_ += bytes;
  return static_cast<uint8_t*>(block);
}

}  // namespace feedrate
