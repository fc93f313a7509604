#include "lib/adapters/cuda/cuda_device.h"

#include <stdexcept>

#include "absl/memory/memory.h"
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

namespace {

// Several times the largest L2, to evict everything. The copy rate is measured
// between its halves.
constexpr int64_t kFlushBytes = int64_t{512} << 20;
constexpr int kCopies = 5;

void Check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(
      absl::StrCat("CUDA: ", call, ": ", cudaGetErrorString(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaProbe>> CudaProbe::Create(
    const DeviceMemory* memory) {
  std::unique_ptr<CudaProbe> probe = absl::WrapUnique(new CudaProbe(memory));
  int devices = 0;
  RETURN_IF_ERROR(
      CudaStatus(cudaGetDeviceCount(&devices), "cudaGetDeviceCount"));
  RETURN_IF_ERROR(CudaStatus(cudaSetDevice(0), "cudaSetDevice"));
  char bus[32] = {};
  RETURN_IF_ERROR(CudaStatus(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0),
                             "cudaDeviceGetPCIBusId"));
  probe->bus_ = bus;
  RETURN_IF_ERROR(CudaStatus(
      cudaStreamCreateWithFlags(&probe->stream_, cudaStreamNonBlocking),
      "cudaStreamCreateWithFlags"));
  RETURN_IF_ERROR(
      CudaStatus(cudaEventCreate(&probe->begin_), "cudaEventCreate"));
  RETURN_IF_ERROR(CudaStatus(cudaEventCreate(&probe->end_), "cudaEventCreate"));
  probe->other_bytes_ = kFlushBytes;
  ASSIGN_OR_RETURN(probe->other_data_,
                   probe->own_.Allocate(kFlushBytes, "flushing the caches"));
  return probe;
}

CudaProbe::~CudaProbe() {
  if (end_ != nullptr) cudaEventDestroy(end_);
  if (begin_ != nullptr) cudaEventDestroy(begin_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void CudaProbe::Flush() {
  Check(cudaMemsetAsync(other_data_, 1, other_bytes_, stream_),
        "cudaMemsetAsync");
  Check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void CudaProbe::Begin() {
  Check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
}

double CudaProbe::End() {
  Check(cudaEventRecord(end_, stream_), "cudaEventRecord");
  // Errors of a kernel are reported here.
  Check(cudaEventSynchronize(end_), "cudaEventSynchronize");
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, begin_, end_),
        "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

double CudaProbe::CopyBytesPerSecond() {
  const int64_t half = other_bytes_ / 2;
  double least = 1e9;
  for (int i = 0; i < kCopies; ++i) {
    Begin();
    Check(cudaMemcpyAsync(other_data_ + half, other_data_, half,
                          cudaMemcpyDeviceToDevice, stream_),
          "cudaMemcpyAsync");
    least = std::min(least, End());
  }
  return 2.0 * static_cast<double>(half) / std::max(least, 1e-9);
}

}  // namespace feedrate
