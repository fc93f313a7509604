#include "lib/reference/rearrange.h"

#include <cmath>
#include <utility>
#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

// An image of the given size whose pixel (y, x) is that of `image` at
// source(y, x), a pair of row and column; zeros where that is outside.
template <typename Source>
Pixels Gather(const Pixels& image, int height, int width, Source source) {
  Pixels result(height, width, image.channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::pair<int, int> from = source(y, x);
      if (from.first < 0 || from.first >= image.height || from.second < 0 ||
          from.second >= image.width) {
        continue;
      }
      for (int c = 0; c < image.channels; ++c) {
        result.at(y, x, c) = image.at(from.first, from.second, c);
      }
    }
  }
  return result;
}

int FloorHalf(int value) { return static_cast<int>(std::floor(value / 2.0)); }

}  // namespace

Pixels FlipHorizontally(const Pixels& image) {
  return Gather(image, image.height, image.width, [&](int y, int x) {
    return std::make_pair(y, image.width - 1 - x);
  });
}

Pixels FlipVertically(const Pixels& image) {
  return Gather(image, image.height, image.width, [&](int y, int x) {
    return std::make_pair(image.height - 1 - y, x);
  });
}

Pixels Transpose(const Pixels& image) {
  return Gather(image, image.width, image.height,
                [](int y, int x) { return std::make_pair(x, y); });
}

Pixels RotateQuarters(const Pixels& image, int times) {
  Pixels result = image;
  for (int i = 0; i < times % 4; ++i) {
    result = FlipVertically(Transpose(result));
  }
  return result;
}

Pixels PadWithZeros(const Pixels& image, int border) {
  return Crop(image, -border, -border, image.height + 2 * border,
              image.width + 2 * border);
}

Pixels Crop(const Pixels& image, int top, int left, int height, int width) {
  return Gather(image, height, width, [=](int y, int x) {
    return std::make_pair(top + y, left + x);
  });
}

Pixels CropCenter(const Pixels& image, int height, int width) {
  return Crop(image, FloorHalf(image.height - height),
              FloorHalf(image.width - width), height, width);
}

Pixels OrderChannels(const Pixels& image, const std::vector<int>& order) {
  Pixels result(image.height, image.width, static_cast<int>(order.size()));
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < result.channels; ++c) {
        result.at(y, x, c) = image.at(y, x, order[c]);
      }
    }
  }
  return result;
}

Pixels DropChannel(const Pixels& image, int channel) {
  Pixels result = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) result.at(y, x, channel) = 0;
  }
  return result;
}

}  // namespace feedrate
