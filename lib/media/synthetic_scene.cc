#include "lib/media/synthetic_scene.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "lib/media/synthetic_noise.h"

namespace feedrate {
namespace {

int SquareRoot(uint64_t value) {
  uint64_t root = 0;
  for (int bit = 15; bit >= 0; --bit) {
    const uint64_t candidate = root | (uint64_t{1} << bit);
    if (candidate * candidate <= value) root = candidate;
  }
  return static_cast<int>(root);
}

}  // namespace

SyntheticScene::SyntheticScene(int width, int height, SyntheticRandom* random)
    : width_(width), height_(height) {
  AddSurface(random->Between(120, 190), random);
  const int hills = random->Between(0, 3);
  for (int i = 0; i < hills; ++i) AddHills(random);
  const int things = random->Between(8, 30);
  for (int i = 0; i < things; ++i) {
    if (random->Between(0, 99) < 65) {
      AddBlob(random);
    } else {
      AddBox(random);
    }
  }
}

void SyntheticScene::AddSurface(int light, SyntheticRandom* random) {
  Surface surface;
  surface.slope_x = 16 * random->Between(-24, 24);
  surface.slope_y = 16 * random->Between(-36, 24);
  // So that the light is meant in the middle.
  surface.luma = 16 * light - (surface.slope_x * (width_ / 2) >> 8) -
                 (surface.slope_y * (height_ / 2) >> 8);
  // Most things are nearly grey; a few are gaudy.
  const int colour = random->Between(0, 9) == 0 ? 70 : 28;
  surface.blue = 16 * random->Between(-colour, colour * 3 / 4);
  surface.red = 16 * random->Between(-colour * 3 / 4, colour);
  surface.coarse_gain = random->Between(60, 320);
  // Squared: many smooth surfaces, few rough ones.
  const int rough = random->Between(2, 23);
  surface.fine_gain = rough * rough;
  surfaces_.push_back(surface);
}

void SyntheticScene::AddHills(SyntheticRandom* random) {
  Shape hills;
  const int horizon = height_ * random->Between(30, 85) / 100;
  const int rough = random->Between(1, 12);
  const std::vector<int16_t> line =
      MakeNoiseLine(width_,
                    {rough / 6, rough / 3, rough / 2, rough, 2 * rough,
                     4 * rough, 6 * rough, 8 * rough},
                    random->Next());
  for (int16_t offset : line) hills.skyline.push_back(horizon + offset / 4);
  AddSurface(random->Between(40, 150), random);
  shapes_.push_back(std::move(hills));
}

void SyntheticScene::AddBlob(SyntheticRandom* random) {
  Shape blob;
  const int a = std::max(4, width_ * random->Between(1, 22) / 100);
  const int b = std::max(4, height_ * random->Between(2, 28) / 100);
  const int x = random->Between(-a / 2, width_ + a / 2);
  const int y = random->Between(-b / 2, height_ + b / 2);
  const int wobble = random->Between(0, 8);
  const std::vector<int> octaves = {0,          wobble / 2, wobble,
                                    2 * wobble, 4 * wobble, 5 * wobble};
  const std::vector<int16_t> left =
      MakeNoiseLine(2 * b, octaves, random->Next());
  const std::vector<int16_t> right =
      MakeNoiseLine(2 * b, octaves, random->Next());
  blob.top = y - b;
  for (int i = 0; i < 2 * b; ++i) {
    const int64_t dy = 2 * i + 1 - 2 * b;  // In half rows from the middle.
    const uint64_t share = (uint64_t{1} << 20) - (dy * dy << 20) / (4 * b * b);
    const int half = a * SquareRoot(share) / 1024;
    blob.left.push_back(x - half + left[i] * half / (4 * a));
    blob.right.push_back(x + half + right[i] * half / (4 * a));
  }
  AddSurface(random->Between(35, 200), random);
  shapes_.push_back(std::move(blob));
}

void SyntheticScene::AddBox(SyntheticRandom* random) {
  Shape box;
  const int width = std::max(3, width_ * random->Between(2, 35) / 100);
  const int height = std::max(3, height_ * random->Between(3, 60) / 100);
  const int x = random->Between(-width / 2, width_ - width / 2);
  box.top = random->Between(-height / 2, height_ - height / 2);
  const int slant = random->Between(-90, 90);
  for (int i = 0; i < height; ++i) {
    box.left.push_back(x + i * slant / 256);
    box.right.push_back(x + i * slant / 256 + width);
  }
  AddSurface(random->Between(35, 200), random);
  shapes_.push_back(std::move(box));
}

void SyntheticScene::PaintRow(int y, uint8_t* labels) const {
  std::memset(labels, 0, width_);
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = shapes_[i];
    const uint8_t label = static_cast<uint8_t>(i + 1);
    if (!shape.skyline.empty()) {
      for (int x = 0; x < width_; ++x) {
        labels[x] = y >= shape.skyline[x] ? label : labels[x];
      }
      continue;
    }
    const int row = y - shape.top;
    if (row < 0 || row >= static_cast<int>(shape.left.size())) continue;
    const int left = std::clamp(shape.left[row], 0, width_);
    const int right = std::clamp(shape.right[row], left, width_);
    std::memset(labels + left, label, right - left);
  }
}

}  // namespace feedrate
