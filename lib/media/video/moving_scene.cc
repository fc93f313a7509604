#include "lib/media/video/moving_scene.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "lib/media/image.h"
#include "lib/media/synthetic.h"
#include "lib/media/synthetic_random.h"
#include "lib/media/video/index_pattern.h"

namespace feedrate {
namespace {

// Over a mirrored edge, so that there is a picture wherever the camera looks.
int Mirrored(int64_t at, int size) {
  const int64_t period = int64_t{2} * size;
  const auto inside = static_cast<int>(((at % period) + period) % period);
  return inside < size ? inside : static_cast<int>(period - 1 - inside);
}

uint8_t ToByte(int value) {
  return static_cast<uint8_t>(std::clamp(value, 16, 235));
}

}  // namespace

MovingScene::MovingScene(uint64_t seed, int width, int height)
    : picture_(SyntheticPixels(seed, 0)),
      width_(width),
      height_(height),
      grain_key_(static_cast<uint32_t>(seed * 0x9e3779b1u + 17)) {
  SyntheticRandom random(seed ^ 0x51ed270b4d2a1f3cu);
  // In quarters of a pixel a frame.
  speed_x_ = random.Between(-12, 12);
  speed_y_ = random.Between(-4, 4);
  thing_speed_ = random.Between(6, 20);
}

MovingScene::Yuv MovingScene::At(int64_t number, int x, int y) const {
  const std::optional<bool> square = PatternAt(number, width_, x, y);
  if (square.has_value()) {
    return {static_cast<uint8_t>(*square ? 235 : 16), 128, 128};
  }
  const int side = height_ / 4;
  const int64_t left = Mirrored(number * thing_speed_ / 4, width_);
  const int64_t top = height_ / 3 + Mirrored(number, height_ / 4);
  const bool thing = x >= left && x < left + side && y >= top && y < top + side;
  // The thing has a texture of its own, which moves with it.
  const int64_t from_x =
      thing ? 2 * (x - left) + 31 : x + number * speed_x_ / 4;
  const int64_t from_y = thing ? 2 * (y - top) + 7 : y + number * speed_y_ / 4;
  const uint8_t* rgb =
      picture_.view().row(Mirrored(from_y, picture_.height())) +
      3 * Mirrored(from_x, picture_.width());
  const int r = rgb[0];
  const int g = rgb[1];
  const int b = rgb[2];
  const uint32_t place =
      static_cast<uint32_t>((number * height_ + y) * width_ + x);
  const int grain = static_cast<int>(PixelHash(grain_key_, place) % 5) - 2;
  return {ToByte(16 + ((66 * r + 129 * g + 25 * b + 128) >> 8) + grain),
          ToByte(128 + ((-38 * r - 74 * g + 112 * b + 128) >> 8)),
          ToByte(128 + ((112 * r - 94 * g - 18 * b + 128) >> 8))};
}

}  // namespace feedrate
