#include "lib/reference/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

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

namespace {

enum class Outside { kZero, kRepeat };

double ValueAt(const Pixels& image, int y, int x, int c, Outside outside) {
  if (outside == Outside::kRepeat) {
    y = std::clamp(y, 0, image.height - 1);
    x = std::clamp(x, 0, image.width - 1);
  } else if (y < 0 || y >= image.height || x < 0 || x >= image.width) {
    return 0;
  }
  return image.at(y, x, c);
}

double Bilinear(const Pixels& image, Point at, int c, Outside outside) {
  const double left = std::floor(at.x);
  const double top = std::floor(at.y);
  const double right = at.x - left;
  const double below = at.y - top;
  const int x = static_cast<int>(left);
  const int y = static_cast<int>(top);
  return (1 - below) * ((1 - right) * ValueAt(image, y, x, c, outside) +
                        right * ValueAt(image, y, x + 1, c, outside)) +
         below * ((1 - right) * ValueAt(image, y + 1, x, c, outside) +
                  right * ValueAt(image, y + 1, x + 1, c, outside));
}

// Clamps far away points to just outside, which fits an int. NaN (0/0) goes
// there, too.
double NotTooFar(double at, double far) {
  return std::isnan(at) ? far : std::clamp(at, -far, far);
}

// The image of that size whose pixel (x, y) is read at where(x, y).
template <typename Where>
Pixels ReadAt(const Pixels& image, Size size, Outside outside, Where where) {
  Pixels result(size.height, size.width, image.channels);
  const double far = 10 + std::max(image.width, image.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      Point at = where(x, y);
      at = {NotTooFar(at.x, far), NotTooFar(at.y, far)};
      for (int c = 0; c < image.channels; ++c) {
        result.at(y, x, c) = Bilinear(image, at, c, outside);
      }
    }
  }
  return result;
}

Size SizeOf(const Pixels& image) { return {image.height, image.width}; }

Point CenterOf(const Pixels& image) {
  return {(image.width - 1) / 2.0, (image.height - 1) / 2.0};
}

double Radians(double degrees) { return degrees * std::acos(-1.0) / 180; }

Size ScaledSize(const Pixels& image, int side, int of) {
  const auto scaled = [=](int length) {
    return std::max<int>(1, static_cast<int64_t>(length) * side / of);
  };
  return {scaled(image.height), scaled(image.width)};
}

}  // namespace

Pixels Resize(const Pixels& image, int height, int width) {
  const double x_step = static_cast<double>(image.width) / width;
  const double y_step = static_cast<double>(image.height) / height;
  return ReadAt(image, {height, width}, Outside::kRepeat, [=](int x, int y) {
    return Point{(x + 0.5) * x_step - 0.5, (y + 0.5) * y_step - 0.5};
  });
}

Size LongestSide(const Pixels& image, int side) {
  return ScaledSize(image, side, std::max(image.height, image.width));
}

Size ShortestSide(const Pixels& image, int side) {
  return ScaledSize(image, side, std::min(image.height, image.width));
}

Pixels CenterSquare(const Pixels& image) {
  const int side = std::min(image.height, image.width);
  return CropCenter(image, side, side);
}

Pixels Affine(const Pixels& image, double degrees, double scale, Point shift) {
  const Point center = CenterOf(image);
  const double cosine = std::cos(Radians(degrees)) / scale;
  const double sine = std::sin(Radians(degrees)) / scale;
  return ReadAt(image, SizeOf(image), Outside::kZero, [=](int x, int y) {
    const double dx = x - center.x - shift.x;
    const double dy = y - center.y - shift.y;
    return Point{center.x + cosine * dx - sine * dy,
                 center.y + sine * dx + cosine * dy};
  });
}

Pixels ShearX(const Pixels& image, double degrees) {
  const Point center = CenterOf(image);
  const double tangent = std::tan(Radians(degrees));
  return ReadAt(image, SizeOf(image), Outside::kZero, [=](int x, int y) {
    return Point{x + tangent * (y - center.y), static_cast<double>(y)};
  });
}

Pixels Perspective(const Pixels& image, const std::array<double, 8>& h) {
  return ReadAt(image, SizeOf(image), Outside::kZero, [&](int x, int y) {
    const double w = h[6] * x + h[7] * y + 1;
    return Point{(h[0] * x + h[1] * y + h[2]) / w,
                 (h[3] * x + h[4] * y + h[5]) / w};
  });
}

Pixels Fisheye(const Pixels& image, double strength) {
  const Point center = {image.width / 2.0, image.height / 2.0};
  const double diagonal = std::hypot(center.x, center.y);
  return ReadAt(image, SizeOf(image), Outside::kZero, [=](int x, int y) {
    const double dx = x - center.x;
    const double dy = y - center.y;
    const double r = std::hypot(dx, dy) / diagonal;
    const double stretch = 1 + strength * r * r;
    return Point{center.x + stretch * dx, center.y + stretch * dy};
  });
}

Pixels Shifted(const Pixels& image, Point shift) {
  return ReadAt(image, SizeOf(image), Outside::kRepeat, [=](int x, int y) {
    return Point{x + shift.x, y + shift.y};
  });
}

}  // namespace feedrate
