#include "lib/adapters/cuda/warp_math.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "lib/reference/geometry.h"
#include "lib/reference/pixels.h"

namespace feedrate::fused {
namespace {

Pixels SmoothImage(int height, int width) {
  Pixels image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(y, x, c) =
            127 + 60 * std::sin(0.3 * x + c) + 60 * std::cos(0.2 * y - c);
      }
    }
  }
  return image;
}

double Tap(const Pixels& image, int y, int x, int c, Edge edge) {
  const int row = InsideOf(y, image.height, edge);
  const int column = InsideOf(x, image.width, edge);
  return row < 0 || column < 0 ? 0 : image.at(row, column, c);
}

// As the kernels do it.
Pixels Warp(const Pixels& image, const Projection& projection, Edge edge,
            int height, int width) {
  Pixels result(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      Place place = ReadPlace(projection, x, y);
      place.x = NearImage(place.x, image.width, edge);
      place.y = NearImage(place.y, image.height, edge);
      const Corner at = CornerOf(place);
      for (int c = 0; c < 3; ++c) {
        const double above = (1 - at.right) * Tap(image, at.y, at.x, c, edge) +
                             at.right * Tap(image, at.y, at.x + 1, c, edge);
        const double below =
            (1 - at.right) * Tap(image, at.y + 1, at.x, c, edge) +
            at.right * Tap(image, at.y + 1, at.x + 1, c, edge);
        result.at(y, x, c) = (1 - at.below) * above + at.below * below;
      }
    }
  }
  return result;
}

void ExpectNear(const Pixels& actual, const Pixels& expected, double limit) {
  ASSERT_TRUE(actual.SameShape(expected));
  for (size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_NEAR(actual.values[i], expected.values[i], limit) << i;
  }
}

TEST(WarpMathTest, AffineIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  AffineMap map;
  map.degrees = 25;
  map.scale = 2;
  map.x = 20;
  map.y = -7;
  ExpectNear(Warp(image, AffineProjection(map, 61, 83), Edge::kZero, 61, 83),
             Affine(image, 25, 2, {20, -7}), 0.05);
}

TEST(WarpMathTest, ShearIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  AffineMap map;
  map.shear_x_degrees = 10;
  ExpectNear(Warp(image, AffineProjection(map, 61, 83), Edge::kZero, 61, 83),
             ShearX(image, 10), 0.05);
}

TEST(WarpMathTest, PerspectiveIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  const std::array<double, 8> h = {0.95, 0.05, 10, -0.03, 0.9, 15, 1e-4, -2e-4};
  Projection projection;
  for (int i = 0; i < 8; ++i) projection.h[i] = static_cast<float>(h[i]);
  ExpectNear(Warp(image, projection, Edge::kZero, 61, 83),
             Perspective(image, h), 0.05);
}

TEST(WarpMathTest, ResizeIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  for (const auto& to : {std::array<int, 2>{128, 128}, {20, 200}, {61, 83}}) {
    ExpectNear(Warp(image, ResizeProjection(61, 83, to[0], to[1]),
                    Edge::kReplicate, to[0], to[1]),
               Resize(image, to[0], to[1]), 0.05);
  }
}

TEST(WarpMathTest, CropsAndFlipsAreExact) {
  const Pixels image = SmoothImage(61, 83);
  ExpectNear(
      Warp(image, CropProjection(-3, 70, 20, false), Edge::kZero, 30, 20),
      Crop(image, -3, 70, 30, 20), 0);
  ExpectNear(Warp(image, CropProjection(5, 7, 20, true), Edge::kZero, 30, 20),
             FlipHorizontally(Crop(image, 5, 7, 30, 20)), 0);
}

TEST(WarpMathTest, EdgesAreWhatTheySay) {
  EXPECT_EQ(InsideOf(2, 4, Edge::kZero), 2);
  EXPECT_EQ(InsideOf(-1, 4, Edge::kZero), -1);
  EXPECT_EQ(InsideOf(4, 4, Edge::kZero), -1);
  EXPECT_EQ(InsideOf(-2, 4, Edge::kReplicate), 0);
  EXPECT_EQ(InsideOf(9, 4, Edge::kReplicate), 3);
  EXPECT_EQ(InsideOf(-2, 4, Edge::kReflect), 2);
  EXPECT_EQ(InsideOf(5, 4, Edge::kReflect), 1);
  EXPECT_EQ(InsideOf(-1, 1, Edge::kReflect), 0);
  EXPECT_EQ(InsideOf(-9, 4, Edge::kReflect), 0);
}

TEST(WarpMathTest, NowhereIsFarAway) {
  Projection projection;
  projection.h[6] = -0.5f;  // The horizon runs through x = 2.
  const Place place = ReadPlace(projection, 2, 3);
  EXPECT_TRUE(std::isfinite(place.x));
  EXPECT_TRUE(std::isfinite(place.y));
  EXPECT_TRUE(std::isfinite(ReadPlace(projection, 2, 0).y));
}

TEST(WarpMathTest, WhatOnlyMovesReadsThePixelsThatTheMapSays) {
  Projection down = CropProjection(0, 0, 50, false);
  down.h[4] = -1;
  down.h[5] = 39;
  for (const Projection& p :
       {CropProjection(3, 7, 50, false), CropProjection(-10, -10, 50, false),
        CropProjection(2, 5, 50, true), down}) {
    Move move;
    ASSERT_TRUE(OnlyMoves(p, &move));
    for (int y = 0; y < 40; y += 3) {
      for (int x = 0; x < 50; ++x) {
        const Corner corner = CornerOf(ReadPlace(p, x, y));
        EXPECT_EQ(corner.right, 0);
        EXPECT_EQ(corner.below, 0);
        EXPECT_EQ(corner.x, move.flip_x ? move.x - x : move.x + x);
        EXPECT_EQ(corner.y, move.flip_y ? move.y - y : move.y + y);
      }
    }
  }
}

TEST(WarpMathTest, OtherMapsDoMore) {
  Move move;
  AffineMap turn;
  turn.degrees = 30;
  EXPECT_FALSE(OnlyMoves(AffineProjection(turn, 40, 50), &move));
  EXPECT_FALSE(OnlyMoves(ResizeProjection(40, 50, 80, 100), &move));
  Projection half;
  half.h[2] = 0.5f;
  EXPECT_FALSE(OnlyMoves(half, &move));
  Projection transposed;
  transposed.h[0] = transposed.h[4] = 0;
  transposed.h[1] = transposed.h[3] = 1;
  EXPECT_FALSE(OnlyMoves(transposed, &move));
  Projection nowhere;
  nowhere.h[2] = NAN;
  EXPECT_FALSE(OnlyMoves(nowhere, &move));
}

}  // namespace
}  // namespace feedrate::fused
