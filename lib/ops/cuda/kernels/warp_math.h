// Where a pixel of a warped or resized image is read, and what lies beyond the
// border.
#pragma once

#include <cmath>

#include "lib/base/host_device.h"

namespace feedrate::fused {

// What is read beyond the border of a row a b c d.
enum class Edge {
  kZero,       // 0 0 | a b c d | 0 0
  kReplicate,  // a a | a b c d | d d
  kReflect,    // c b | a b c d | c b
};

// Maps row or column `at` of `size` to one inside; -1 if it reads as zero.
// kReflect REQUIRES: at is within one size of the border.
FEEDRATE_HD int InsideOf(int at, int size, Edge edge) {
  if (at >= 0 && at < size) return at;
  if (edge == Edge::kZero) return -1;
  if (edge == Edge::kReflect && size > 1) {
    const int turned = at < 0 ? -at : 2 * (size - 1) - at;
    if (turned >= 0 && turned < size) return turned;
  }
  return at < 0 ? 0 : size - 1;
}

struct Place {
  float x = 0;
  float y = 0;
};

// Output pixel (x, y) is read at ((h0 x + h1 y + h2) / w, (h3 x + h4 y + h5) /
// w) with w = h6 x + h7 y + 1. Pixel centers have integer coordinates.
struct Projection {
  float h[8] = {1, 0, 0, 0, 1, 0, 0, 0};
};

// Limits far positions to values that fit an int; NaN (0/0) also becomes one of
// these.
FEEDRATE_HD float NotTooFar(float at) {
  constexpr float kFar = 1 << 24;
  return at > -kFar ? (at < kFar ? at : kFar) : -kFar;
}

FEEDRATE_HD Place ProjectedPlace(const Projection& p, int x, int y) {
  const float fx = static_cast<float>(x);
  const float fy = static_cast<float>(y);
  Place place;
  place.x = p.h[0] * fx + p.h[1] * fy + p.h[2];
  place.y = p.h[3] * fx + p.h[4] * fy + p.h[5];
  // Affine maps, which are most of them, need no division.
  if (p.h[6] != 0 || p.h[7] != 0) {
    const float w = 1.0f / (p.h[6] * fx + p.h[7] * fy + 1.0f);
    place.x *= w;
    place.y *= w;
  }
  return place;
}

FEEDRATE_HD Place ReadPlace(const Projection& p, int x, int y) {
  const Place place = ProjectedPlace(p, x, y);
  return {NotTooFar(place.x), NotTooFar(place.y)};
}

// Moves `at` next to the image, to a position that reads the same: a line of
// `size` followed by zeros or by its last pixel. NaN becomes such a position as
// well. kReflect is unchanged.
FEEDRATE_HD float NearImage(float at, int size, Edge edge) {
  if (edge == Edge::kReflect) return at;
  const float low = edge == Edge::kZero ? -1.0f : 0.0f;
  const float high = static_cast<float>(edge == Edge::kZero ? size : size - 1);
  return fminf(fmaxf(at, low), high);
}

// The four pixels around a position: (x, y) and its right and lower neighbors,
// weighted by the fractions.
struct Corner {
  int x = 0;
  int y = 0;
  float right = 0;
  float below = 0;
};

FEEDRATE_HD int Floor(float value) {
#ifdef __CUDA_ARCH__
  return __float2int_rd(value);
#else
  return static_cast<int>(floorf(value));
#endif
}

FEEDRATE_HD Corner CornerOf(const Place& place) {
  Corner corner;
  corner.x = Floor(place.x);
  corner.y = Floor(place.y);
  corner.right = place.x - static_cast<float>(corner.x);
  corner.below = place.y - static_cast<float>(corner.y);
  return corner;
}

FEEDRATE_HD float Between(float a, float b, float t) { return a + t * (b - a); }

// A map that moves pixels unchanged, row by row: crops, flips and padding.
// Column x is read at x + offset, or at offset - x.
struct Move {
  int x = 0;
  int y = 0;
  bool flip_x = false;
  bool flip_y = false;
};

// True if the projection is such a map.
FEEDRATE_HD bool OnlyMoves(const Projection& p, Move* move) {
  // Larger values may not be exact integers as floats.
  constexpr float kMost = 1 << 22;
  if (fabsf(p.h[0]) != 1 || fabsf(p.h[4]) != 1 || p.h[1] != 0 || p.h[3] != 0 ||
      p.h[6] != 0 || p.h[7] != 0 || !(fabsf(p.h[2]) < kMost) ||
      !(fabsf(p.h[5]) < kMost) || floorf(p.h[2]) != p.h[2] ||
      floorf(p.h[5]) != p.h[5]) {
    return false;
  }
  move->x = static_cast<int>(p.h[2]);
  move->y = static_cast<int>(p.h[5]);
  move->flip_x = p.h[0] < 0;
  move->flip_y = p.h[4] < 0;
  return true;
}

// Projections, computed on the host. Sizes are those of the input unless named
// otherwise.

// Shears (pixels above the center move right, those left of it move up), then
// rotates about the center by `degrees` counterclockwise and scales by `scale`,
// then moves by (x, y).
struct AffineMap {
  double degrees = 0;
  double scale = 1;
  double shear_x_degrees = 0;
  double shear_y_degrees = 0;
  double x = 0;
  double y = 0;
};
Projection AffineProjection(const AffineMap& map, int height, int width);

// Crops to the window. `flip` mirrors left and right.
Projection CropProjection(int top, int left, int width, bool flip);

// Resizes `height` x `width` to `to_height` x `to_width`; outer edges coincide.
Projection ResizeProjection(int height, int width, int to_height, int to_width);

FEEDRATE_HD int Clamp(int value, int low, int high) {
  return value < low ? low : (value > high ? high : value);
}

FEEDRATE_HD float Clamp(float value, float low, float high) {
  return value < low ? low : (value > high ? high : value);
}

// Position that output pixel `i` reads if each output pixel spans `step` source
// pixels. The outer edges of both lines coincide; pixel centers have integer
// coordinates.
FEEDRATE_HD float ResizedFrom(int i, float step) {
  return (static_cast<float>(i) + 0.5f) * step - 0.5f;
}

// Pixels first to first + count - 1 of a line, weighted by a triangle as wide
// as two source pixels or, when shrinking, two target pixels: the filter that
// Pillow and torch (antialias=True) call bilinear.
struct Taps {
  int first = 0;
  int count = 0;
  float center = 0;   // The triangle's; pixel edges are at integers.
  float inverse = 1;  // Reciprocal of half its width.
};

// Taps of pixel `i` for a line of source length `size`. REQUIRES: size >= 1.
FEEDRATE_HD Taps AntialiasTaps(int i, float step, int size) {
  const float half = step > 1.0f ? step : 1.0f;
  Taps taps;
  taps.center = (static_cast<float>(i) + 0.5f) * step;
  taps.inverse = 1.0f / half;
  const int first = static_cast<int>(taps.center - half + 0.5f);
  const int last = static_cast<int>(taps.center + half + 0.5f);
  taps.first = first < 0 ? 0 : first;
  taps.count = (last > size ? size : last) - taps.first;
  return taps;
}

// Weight of pixel first + k. The sum over k is TapSum, not 1.
FEEDRATE_HD float TapWeight(const Taps& taps, int k) {
  const float at =
      (static_cast<float>(taps.first + k) - taps.center + 0.5f) * taps.inverse;
  const float weight = 1.0f - (at < 0 ? -at : at);
  return weight > 0 ? weight : 0;
}

FEEDRATE_HD float TapSum(const Taps& taps) {
  float sum = 0;
  for (int k = 0; k < taps.count; ++k) sum += TapWeight(taps, k);
  return sum;
}

// Top left, top right, bottom left, bottom right.
struct Corners {
  double x[4] = {0, 0, 0, 0};
  double y[4] = {0, 0, 0, 0};
};

// The projection that moves what is at `to` into the corners of a height x
// width image. REQUIRES: no three points of `to` are on a line.
Projection SolvePerspective(const Corners& to, int height, int width);

}  // namespace feedrate::fused
