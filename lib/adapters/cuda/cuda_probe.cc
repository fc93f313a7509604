#include "lib/adapters/cuda/cuda_probe.h"

#include <algorithm>
#include <stdexcept>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
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
