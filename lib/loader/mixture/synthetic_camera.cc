#include "lib/loader/mixture/synthetic_camera.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "lib/media/image.h"
#include "lib/media/image_file.h"
#include "lib/media/synthetic.h"
#include "lib/media/synthetic_random.h"

namespace feedrate {
namespace {

// Over a mirrored edge, so that there is a picture wherever the camera looks.
int Mirrored(int at, int size) {
  const int period = 2 * size;
  const int inside = ((at % period) + period) % period;
  return inside < size ? inside : period - 1 - inside;
}

uint8_t ToByte(int value) {
  return static_cast<uint8_t>(std::clamp(value, 0, 255));
}

}  // namespace

SyntheticCamera::SyntheticCamera(uint64_t seed, int height, int width,
                                 int quality)
    : picture_(SyntheticPixels(seed, 0)),
      height_(height),
      width_(width),
      quality_(quality),
      grain_key_(static_cast<uint32_t>(seed * 0x9e3779b1u + 17)) {
  SyntheticRandom random(seed ^ 0x51ed270b4d2a1f3cu);
  start_x_ = random.Between(0, picture_.width() - 1);
  start_y_ = random.Between(0, picture_.height() - 1);
  speed_x_ = random.Between(-3, 3);
  speed_y_ = random.Between(-1, 1);
}

Image SyntheticCamera::Frame(int number) const {
  Image frame(height_, width_, 3);
  const int side = height_ / 4;
  const int left = Mirrored(number * 4, width_);
  const int top = height_ / 3;
  const ImageView picture = picture_.view();
  for (int y = 0; y < height_; ++y) {
    uint8_t* const row = frame.row(y);
    for (int x = 0; x < width_; ++x) {
      const bool thing =
          x >= left && x < left + side && y >= top && y < top + side;
      const int from_x =
          thing ? 2 * (x - left) : start_x_ + x + number * speed_x_;
      const int from_y =
          thing ? 2 * (y - top) : start_y_ + y + number * speed_y_;
      const uint8_t* const from =
          picture.row(Mirrored(from_y, picture.height)) +
          3 * Mirrored(from_x, picture.width);
      const auto place =
          static_cast<uint32_t>((number * height_ + y) * width_ + x);
      const int grain = static_cast<int>(PixelHash(grain_key_, place) % 5) - 2;
      for (int c = 0; c < 3; ++c) row[3 * x + c] = ToByte(from[c] + grain);
    }
  }
  return frame;
}

std::string SyntheticCamera::Jpeg(int number) const {
  JpegOptions options;
  options.quality = quality_;
  // Three channels and modest sides: there is nothing that could fail.
  return EncodeJpeg(Frame(number).view(), options).value();
}

}  // namespace feedrate
