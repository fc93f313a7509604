// Random batches and parameters, on the host and on the device.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_SAMPLES_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_SAMPLES_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "lib/adapters/cuda/bench/device.h"
#include "lib/adapters/cuda/bench/host_ops.h"
#include "lib/adapters/cuda/fused.h"

namespace feedrate::fused {

struct ImageSize {
  int height = 0;
  int width = 0;
};

// `crooked`: images start between words and rows have gaps, as those of a
// decoder may; else every image starts at 16 bytes and rows follow each other.
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

// Floats 0..1, channel after channel, of images of one size, and back.
std::vector<float> PlanesOf(const std::vector<HostImage>& images);

// All four steps, in any order.
Jitter RandomJitter(std::mt19937* random);
// Turns up to 25 degrees, 0.9 to 1.1 times as large, moved up to a tenth.
AffineMap RandomAffine(ImageSize size, std::mt19937* random);
// A window inside the image, of 8% of its area or more.
Window RandomWindow(ImageSize size, std::mt19937* random);
// A window of that size inside the image.
Window RandomCrop(ImageSize size, ImageSize crop, std::mt19937* random);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_SAMPLES_H_
