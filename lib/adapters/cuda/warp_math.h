// Where a pixel of a warped image is read, and what lies beyond the border.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_WARP_MATH_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_WARP_MATH_H_

#include <cmath>

#include "lib/adapters/cuda/host_device.h"

namespace feedrate::fused {

// For a row a b c d.
enum class Edge {
  kZero,       // 0 0 | a b c d | 0 0
  kReplicate,  // a a | a b c d | d d
  kReflect,    // c b | a b c d | c b
};

// Row or column `at` of `size` as one that is inside; -1 where it reads as
// zero. kReflect REQUIRES: at within one size of the border.
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

// Pixel (x, y) of the output is read at ((h0 x + h1 y + h2) / w,
// (h3 x + h4 y + h5) / w) with w = h6 x + h7 y + 1. Centres of pixels are at
// whole coordinates.
struct Projection {
  float h[8] = {1, 0, 0, 0, 1, 0, 0, 0};
};

// Far outside is as good as just outside and fits an int; so is nowhere, 0/0.
FEEDRATE_HD float NotTooFar(float at) {
  constexpr float kFar = 1 << 24;
  return at > -kFar ? (at < kFar ? at : kFar) : -kFar;
}

FEEDRATE_HD Place ReadPlace(const Projection& p, int x, int y) {
  const float fx = static_cast<float>(x);
  const float fy = static_cast<float>(y);
  Place place;
  place.x = p.h[0] * fx + p.h[1] * fy + p.h[2];
  place.y = p.h[3] * fx + p.h[4] * fy + p.h[5];
  // Affine maps, the most of them, need no division.
  if (p.h[6] != 0 || p.h[7] != 0) {
    const float w = 1.0f / (p.h[6] * fx + p.h[7] * fy + 1.0f);
    place.x *= w;
    place.y *= w;
  }
  place.x = NotTooFar(place.x);
  place.y = NotTooFar(place.y);
  return place;
}

// `at` moved to where it reads the same but is next to the image: a line of
// `size` that is followed by zeros, or by its last pixel. kReflect stays.
FEEDRATE_HD float NearImage(float at, int size, Edge edge) {
  if (edge == Edge::kReflect) return at;
  const float low = edge == Edge::kZero ? -1.0f : 0.0f;
  const float high = static_cast<float>(edge == Edge::kZero ? size : size - 1);
  return at > low ? (at < high ? at : high) : low;
}

// The four pixels around a place: (x, y) and its neighbours right and below,
// weighted by the fractions.
struct Corner {
  int x = 0;
  int y = 0;
  float right = 0;
  float below = 0;
};

FEEDRATE_HD Corner CornerOf(const Place& place) {
  const float left = floorf(place.x);
  const float top = floorf(place.y);
  Corner corner;
  corner.x = static_cast<int>(left);
  corner.y = static_cast<int>(top);
  corner.right = place.x - left;
  corner.below = place.y - top;
  return corner;
}

FEEDRATE_HD float Between(float a, float b, float t) { return a + t * (b - a); }

// A map that moves pixels as they are, row by row: crops, flips and padding.
// Column x is read at x + this one's, or at this one's - x.
struct Move {
  int x = 0;
  int y = 0;
  bool flip_x = false;
  bool flip_y = false;
};

// Whether a projection is one.
FEEDRATE_HD bool OnlyMoves(const Projection& p, Move* move) {
  // What is larger may be no whole number as a float.
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

// Projections, on the host. Sizes are of the input unless named.

// Turned about the centre by `degrees` counter-clockwise, `scale` times as
// large, sheared before that (what is above the centre goes right, what is left
// of it up), moved by (x, y) after it.
struct AffineMap {
  double degrees = 0;
  double scale = 1;
  double shear_x_degrees = 0;
  double shear_y_degrees = 0;
  double x = 0;
  double y = 0;
};
Projection AffineProjection(const AffineMap& map, int height, int width);

// The window, as if it were the whole image. `flip` changes left and right.
Projection CropProjection(int top, int left, int width, bool flip);

// `height` x `width` stretched to `to_height` x `to_width`, outer edges meet.
Projection ResizeProjection(int height, int width, int to_height, int to_width);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_WARP_MATH_H_
