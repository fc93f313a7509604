#include "lib/ops/cuda/bench/samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace feedrate::fused {
namespace {

float Uniform(float low, float high, std::mt19937* random) {
  return std::uniform_real_distribution<float>(low, high)(*random);
}

int Integer(int low, int high, std::mt19937* random) {
  return std::uniform_int_distribution<int>(low, high)(*random);
}

}  // namespace

ByteBatch::ByteBatch(const std::vector<ImageSize>& sizes, bool crooked) {
  int64_t bytes = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ByteImage view;
    view.height = sizes[i].height;
    view.width = sizes[i].width;
    view.stride = view.width * 3 + (crooked ? 5 * (i % 3) : 0);
    const int64_t offset = bytes + (crooked ? i % 4 : 0);
    offsets_.push_back(offset);
    views_.push_back(view);
    bytes = (offset + view.stride * view.height + 15) / 16 * 16;
  }
  pixels_ = std::make_unique<Buffer<uint8_t>>(bytes);
  for (size_t i = 0; i < views_.size(); ++i) {
    views_[i].data = pixels_->data() + offsets_[i];
  }
  device_ = std::make_unique<Buffer<ByteImage>>(views_);
}

void ByteBatch::Fill(const std::vector<HostImage>& images) {
  std::vector<uint8_t> bytes(pixels_->size(), 0xC3);
  for (size_t i = 0; i < images.size(); ++i) {
    const int row = images[i].width * 3;
    for (int y = 0; y < images[i].height; ++y) {
      for (int x = 0; x < row; ++x) {
        bytes[offsets_[i] + y * views_[i].stride + x] =
            static_cast<uint8_t>(images[i].values[y * row + x]);
      }
    }
  }
  CHECK_CUDA(cudaMemcpy(pixels_->data(), bytes.data(), bytes.size(),
                        cudaMemcpyHostToDevice));
}

std::vector<HostImage> ByteBatch::Images() const {
  const std::vector<uint8_t> bytes = pixels_->Values();
  std::vector<HostImage> images;
  for (size_t i = 0; i < views_.size(); ++i) {
    HostImage image(views_[i].height, views_[i].width);
    const int row = image.width * 3;
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < row; ++x) {
        image.values[y * row + x] =
            bytes[offsets_[i] + y * views_[i].stride + x];
      }
    }
    images.push_back(std::move(image));
  }
  return images;
}

HostImage RandomImage(ImageSize size, std::mt19937* random) {
  HostImage image(size.height, size.width);
  // Not all values occur: histograms have gaps and a greatest value.
  for (float& value : image.values) {
    value = static_cast<float>((*random)() % 251);
  }
  return image;
}

std::vector<float> PlanesOf(const std::vector<HostImage>& images) {
  std::vector<float> planes;
  for (const HostImage& image : images) {
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < image.height * image.width; ++i) {
        planes.push_back(image.values[i * 3 + c] / 255);
      }
    }
  }
  return planes;
}

Jitter RandomJitter(std::mt19937* random) {
  Jitter jitter;
  jitter.brightness = Uniform(0.6f, 1.4f, random);
  jitter.contrast = Uniform(0.6f, 1.4f, random);
  jitter.saturation = Uniform(0.6f, 1.4f, random);
  jitter.hue = Uniform(-0.1f, 0.1f, random);
  uint32_t steps[4] = {kBrightness, kContrast, kSaturation, kHue};
  std::shuffle(steps, steps + 4, *random);
  jitter.steps = StepsOf(steps[0], steps[1], steps[2], steps[3]);
  return jitter;
}

Jitter WithoutContrast(Jitter jitter) {
  uint32_t kept = 0;
  for (int at = 12; at >= 0; at -= 4) {
    const uint32_t step = jitter.steps >> at & 15;
    if (step != kContrast) kept = kept << 4 | step;
  }
  jitter.steps = kept;
  return jitter;
}

AffineMap RandomAffine(ImageSize size, std::mt19937* random) {
  AffineMap map;
  map.degrees = Uniform(-25, 25, random);
  map.scale = Uniform(0.9f, 1.1f, random);
  map.x = Uniform(-0.1f, 0.1f, random) * static_cast<float>(size.width);
  map.y = Uniform(-0.1f, 0.1f, random) * static_cast<float>(size.height);
  return map;
}

Window RandomWindow(ImageSize size, std::mt19937* random) {
  const float area =
      Uniform(0.08f, 1, random) * static_cast<float>(size.height * size.width);
  const float ratio =
      std::exp(Uniform(std::log(0.75f), std::log(4.0f / 3), random));
  ImageSize crop;
  crop.width = static_cast<int>(std::lround(std::sqrt(area * ratio)));
  crop.height = static_cast<int>(std::lround(std::sqrt(area / ratio)));
  crop.width = std::clamp(crop.width, 1, size.width);
  crop.height = std::clamp(crop.height, 1, size.height);
  return RandomCrop(size, crop, random);
}

Window RandomCrop(ImageSize size, ImageSize crop, std::mt19937* random) {
  return {Integer(0, size.height - crop.height, random),
          Integer(0, size.width - crop.width, random), crop.height, crop.width};
}

namespace {

// Several times the L2 cache of any GPU: an H200 has 60 MB.
constexpr size_t kFlushBytes = 512u << 20;
constexpr double kWarmUpSeconds = 0.2;

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Timing Summary(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t n = seconds.size();
  return {seconds[n / 2], seconds[n / 10], seconds[n - 1 - n / 10]};
}

}  // namespace

void CheckCuda(cudaError_t error, const char* call, const char* file,
               int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call,
               cudaGetErrorString(error));
  std::exit(2);
}

Timing TimeLaunch(const std::function<void()>& launch, bool cold, int samples) {
  static const auto* const flush = new Buffer<uint8_t>(kFlushBytes);
  const double until = Now() + kWarmUpSeconds;
  while (Now() < until) {
    for (int i = 0; i < 10; ++i) launch();
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  cudaEvent_t start;
  cudaEvent_t end;
  CHECK_CUDA(cudaEventCreate(&start));
  CHECK_CUDA(cudaEventCreate(&end));
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    // The fill also keeps the device busy while the host enqueues the timed
    // work, so that launch overhead is not included.
    CHECK_CUDA(cudaMemsetAsync(flush->data(), i, cold ? kFlushBytes : 1 << 22));
    if (!cold) launch();
    CHECK_CUDA(cudaEventRecord(start));
    launch();
    CHECK_CUDA(cudaEventRecord(end));
    CHECK_CUDA(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
    seconds.push_back(milliseconds * 1e-3);
  }
  CHECK_CUDA(cudaEventDestroy(start));
  CHECK_CUDA(cudaEventDestroy(end));
  return Summary(seconds);
}

double CopyBytesPerSecond() {
  const size_t bytes = size_t{4} << 30;
  const Buffer<uint8_t> from(bytes);
  const Buffer<uint8_t> to(bytes);
  const Timing timing = TimeLaunch(
      [&] {
        CHECK_CUDA(cudaMemcpyAsync(to.data(), from.data(), bytes,
                                   cudaMemcpyDeviceToDevice));
      },
      false, 20);
  return 2.0 * static_cast<double>(bytes) / timing.median_s;
}

}  // namespace feedrate::fused
