// Resizing with Pillow's filters, equal to Image.resize of Pillow up to 12 to
// the last bit: two passes, columns first, whose weights have 22 bits after the
// point and whose results are rounded to 8 bits in between. (Pillow itself
// begins with the rows of images over 100 times as high as wide.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace feedrate {

enum class ResampleFilter { kBox, kBilinear, kHamming, kBicubic, kLanczos };

// Part of an image, in pixels.
struct ResampleWindow {
  int y = 0;
  int x = 0;
  int height = 0;
  int width = 0;

  bool operator==(const ResampleWindow& other) const {
    return y == other.y && x == other.x && height == other.height &&
           width == other.width;
  }
};

// Resizes RGB images to one size, and computes only a window of the result.
// Weights and memory are kept from one image to the next of the same size. Not
// thread-safe.
class Resampler {
 public:
  // REQUIRES: sizes above 0; the window is not empty and lies inside.
  Resampler(int height, int width, ResampleFilter filter,
            const ResampleWindow& window);

  const ResampleWindow& window() const { return window_; }
  // Memory in use.
  int64_t bytes() const;

  // What is read of an image of that size. REQUIRES: sizes above 0.
  const ResampleWindow& Plan(int height, int width);
  // Writes the window to `out`, in rows that are `stride` bytes apart. `pixels`
  // has what Plan returned last, in rows that are `from_stride` bytes apart.
  void Run(const uint8_t* pixels, size_t from_stride, uint8_t* out,
           size_t stride);

  // Which values a result has, and their weights.
  struct Taps {
    // By result.
    std::vector<int> first;
    std::vector<int> count;
    // `most` of each result.
    std::vector<int32_t> weights;
    int most = 0;
    // None are needed: all values stay as they are.
    bool copies = false;
  };

 private:
  const int height_;
  const int width_;
  const ResampleFilter filter_;
  const ResampleWindow window_;
  int from_height_ = 0;
  int from_width_ = 0;
  ResampleWindow from_;
  Taps rows_;
  Taps columns_;
  std::vector<uint8_t> narrow_;
  std::vector<uint8_t> last_row_;
};

}  // namespace feedrate
