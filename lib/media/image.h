// Decoded images with 8 bits per channel: rows from top to bottom, the channels
// of a pixel side by side (HWC), without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace feedrate {

// An image in memory that it does not own.
struct ImageView {
  const uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  int channels = 0;

  size_t size_bytes() const {
    return static_cast<size_t>(height) * width * channels;
  }
  const uint8_t* row(int y) const {
    return data + static_cast<size_t>(y) * width * channels;
  }
};

// An image that owns its memory, initially all zeros.
class Image {
 public:
  Image() = default;
  Image(int height, int width, int channels)
      : pixels_(static_cast<size_t>(height) * width * channels),
        height_(height),
        width_(width),
        channels_(channels) {}
  // REQUIRES: as many bytes as the sizes say.
  Image(int height, int width, int channels, std::vector<uint8_t> pixels)
      : pixels_(std::move(pixels)),
        height_(height),
        width_(width),
        channels_(channels) {}

  ImageView view() const { return {data(), height_, width_, channels_}; }
  const uint8_t* data() const { return pixels_.data(); }
  uint8_t* data() { return pixels_.data(); }
  uint8_t* row(int y) {
    return data() + static_cast<size_t>(y) * width_ * channels_;
  }
  size_t size_bytes() const { return pixels_.size(); }

  int height() const { return height_; }
  int width() const { return width_; }
  int channels() const { return channels_; }

 private:
  std::vector<uint8_t> pixels_;
  int height_ = 0;
  int width_ = 0;
  int channels_ = 0;
};

// Larger images are rejected: no photograph has 800 MB when decoded, but a file
// of a few bytes may claim it.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

struct ImageInfo {
  int height = 0;
  int width = 0;
  // Channels as stored: 1 gray, 2 gray with transparency, 3 color, 4 color with
  // transparency or, in a JPEG, CMYK.
  int channels = 0;
};

}  // namespace feedrate
