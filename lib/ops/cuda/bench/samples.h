// Random batches and parameters on the host and the device, and device timing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lib/ops/cuda/kernels/fused.h"
#include "lib/ops/cuda/kernels/host_kernels.h"

namespace feedrate::fused {

// Exits the program with the text and location of the call: a benchmark cannot
// continue after a CUDA error.
void CheckCuda(cudaError_t error, const char* call, const char* file, int line);
#define CHECK_CUDA(call) \
  ::feedrate::fused::CheckCuda((call), #call, __FILE__, __LINE__)

// Device memory for `size` values, and up to 16 more bytes that kernels may
// read.
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

  // Fills the memory with a pattern that no kernel writes, so that missing
  // writes show.
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
  double low_s = 0;   // 10th percentile.
  double high_s = 0;  // 90th percentile.
};

// Times one call of `launch` on the default stream with events, `samples` times
// after a warm-up of at least 0.2 s. `cold`: fills L2 with other data before
// each sample.
Timing TimeLaunch(const std::function<void()>& launch, bool cold, int samples);

// Bytes read plus written per second by a large copy within the device.
double CopyBytesPerSecond();

struct ImageSize {
  int height = 0;
  int width = 0;
};

// `crooked`: images are unaligned and rows have gaps, as decoders may produce
// them; otherwise every image starts at a multiple of 16 bytes and has no gaps.
class ByteBatch {
 public:
  ByteBatch(const std::vector<ImageSize>& sizes, bool crooked);

  void Fill(const std::vector<HostImage>& images);
  std::vector<HostImage> Images() const;
  void Poison() { pixels_->Poison(); }

  const ByteImage* device() const { return device_->data(); }
  const std::vector<ByteImage>& views() const { return views_; }
  int count() const { return static_cast<int>(views_.size()); }

 private:
  std::vector<ByteImage> views_;
  std::vector<int64_t> offsets_;
  std::unique_ptr<Buffer<uint8_t>> pixels_;
  std::unique_ptr<Buffer<ByteImage>> device_;
};

HostImage RandomImage(ImageSize size, std::mt19937* random);

// Converts images of one size to planes of floats 0..1, and back.
std::vector<float> PlanesOf(const std::vector<HostImage>& images);

// All four steps, in random order.
Jitter RandomJitter(std::mt19937* random);
Jitter WithoutContrast(Jitter jitter);
// Rotation up to 25 degrees, scale 0.9 to 1.1, translation up to a tenth of a
// side.
AffineMap RandomAffine(ImageSize size, std::mt19937* random);
// A window inside the image, with at least 8% of its area.
Window RandomWindow(ImageSize size, std::mt19937* random);
// A window of that size inside the image.
Window RandomCrop(ImageSize size, ImageSize crop, std::mt19937* random);

// What checks.cc does: compares every kernel with the host, on images of
// different and odd sizes. Prints one line per check, `ok` or `FAIL`, with the
// largest difference. Returns the number of failures.
int RunChecks(unsigned seed);

// What timings.cc does: prints a table of images per second of each kernel.
// `limit` is CopyBytesPerSecond divided by the bytes that must move, each read
// once and written once. Only measurements with `filter` in their name.
void RunTimings(int batch, int samples, const std::string& filter = "");

}  // namespace feedrate::fused
