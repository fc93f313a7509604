// Device memory and time for programs that need nothing but the CUDA runtime.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_DEVICE_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_DEVICE_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace feedrate::fused {

// Ends the program with the call's text and place: a benchmark has nothing to
// tell after a CUDA call failed.
void CheckCuda(cudaError_t error, const char* call, const char* file, int line);
#define CHECK_CUDA(call) \
  ::feedrate::fused::CheckCuda((call), #call, __FILE__, __LINE__)

// Device memory for `size` values and up to 16 bytes, which kernels may read.
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t size) : size_(size) {
    CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&data_), Bytes() + 16));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    CHECK_CUDA(
        cudaMemcpy(data_, values.data(), Bytes(), cudaMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }

  T* data() const { return data_; }
  size_t size() const { return size_; }

  // Something that no kernel writes, so that what is left unwritten is seen.
  void Poison() { CHECK_CUDA(cudaMemset(data_, 0xA5, Bytes())); }

  // Waits for the device.
  std::vector<T> Values() const {
    std::vector<T> values(size_);
    CHECK_CUDA(
        cudaMemcpy(values.data(), data_, Bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  size_t Bytes() const { return size_ * sizeof(T); }

  T* data_ = nullptr;
  size_t size_ = 0;
};

struct Timing {
  double median_s = 0;
  double low_s = 0;   // The 10th percentile.
  double high_s = 0;  // The 90th.
};

// Times one call of `launch` on the default stream with events, `samples` times
// after a warm-up of at least 0.2 s. `cold`: L2 is filled with other data
// before each sample.
Timing TimeLaunch(const std::function<void()>& launch, bool cold, int samples);

// Bytes read plus bytes written a second by a large copy within the device.
double CopyBytesPerSecond();

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_DEVICE_H_
