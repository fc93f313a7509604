// Gaussian weights, and how a block of threads blurs a tile.
#pragma once

#include <cmath>
#include <cstdint>

#include "lib/base/host_device.h"
#include "lib/ops/cuda/kernels/warp_math.h"

namespace feedrate::fused {

// The largest radius that kernels support: 13 pixels wide.
constexpr int kMaxBlurRadius = 6;

// Half of the samples of a Gaussian, weights[0] in the middle; together with
// the other half their sum is 1. REQUIRES: 0 <= radius <= kMaxBlurRadius, sigma
// > 0.
FEEDRATE_HD void GaussianWeights(float sigma, int radius, float* weights) {
  const float scale = -0.5f / (sigma * sigma);
  float sum = 1;
  weights[0] = 1;
  for (int i = 1; i <= radius; ++i) {
    weights[i] = expf(scale * static_cast<float>(i * i));
    sum += 2 * weights[i];
  }
  for (int i = 0; i <= radius; ++i) weights[i] /= sum;
}

// Radius at which a Gaussian may be cut off: three sigma.
FEEDRATE_HD int RadiusOf(float sigma) {
  const int radius = static_cast<int>(ceilf(3 * sigma));
  return radius < kMaxBlurRadius ? radius : kMaxBlurRadius;
}

// How a block blurs a tile of bytes: which thread does what.
//
// First each row that the tile needs is smoothed horizontally into a table of
// floats, one thread per group of four pixels. After a barrier each thread
// smooths vertically: four elements of a row and those below them. It reads
// each row of the table once and keeps the last 2R + 1.

// Elements are bytes of a row; three of them are a pixel.
template <int kRadius>
struct BlurTile {
  // A group starts with a whole pixel, so that the compiler knows the channel
  // of each element.
  static constexpr int kGroup = 12;
  static constexpr int kGroups = 16;
  static constexpr int kWidth = kGroup * kGroups;
  static constexpr int kHeight = 32;
  // Rows of the table.
  static constexpr int kRows = kHeight + 2 * kRadius;
  static constexpr int kThreads = 192;
  // Rows that are smoothed horizontally at a time.
  static constexpr int kRowStep = kThreads / kGroups;
  // Vertical smoothing: four elements per thread, this many rows per thread.
  static constexpr int kQuads = kWidth / 4;
  static constexpr int kSegments = kThreads / kQuads;
  static constexpr int kSegmentRows = kHeight / kSegments;
  // Elements that a group reads on each side, and in total.
  static constexpr int kSide = 3 * kRadius;
  static constexpr int kSpan = kGroup + 2 * kSide;

  static_assert(kRowStep * kGroups == kThreads, "threads left over");
  static_assert(kSegments * kQuads == kThreads, "threads left over");
  static_assert(kSegments * kSegmentRows == kHeight, "rows left over");
};

// What the group of pixel `first` reads from a row of `width` pixels, at any
// position. Slow: for groups at the border.
template <int kRadius>
FEEDRATE_HD void SpanAtEdge(const uint8_t* row, int first, int width,
                            float* span) {
  FEEDRATE_UNROLL
  for (int p = 0; p < BlurTile<kRadius>::kSpan / 3; ++p) {
    const int pixel = InsideOf(first - kRadius + p, width, Edge::kReflect);
    FEEDRATE_UNROLL
    for (int c = 0; c < 3; ++c) {
      span[3 * p + c] = static_cast<float>(row[3 * pixel + c]);
    }
  }
}

// Smooths a group horizontally.
template <int kRadius>
FEEDRATE_HD void BlurAcross(const float* span, const float* weights,
                            float* group) {
  using T = BlurTile<kRadius>;
  FEEDRATE_UNROLL
  for (int k = 0; k < T::kGroup; ++k) {
    float sum = weights[0] * span[T::kSide + k];
    FEEDRATE_UNROLL
    for (int j = 1; j <= kRadius; ++j) {
      sum += weights[j] *
             (span[T::kSide + k - 3 * j] + span[T::kSide + k + 3 * j]);
    }
    group[k] = sum;
  }
}

// Four elements of the last 2R + 1 rows. Indexes are constants if the
// surrounding loops are unrolled.
template <int kRadius>
struct BlurColumn {
  static constexpr int kKept = 2 * kRadius + 1;
  float rows[kKept][4];

  FEEDRATE_HD void Put(int row, const float v[4]) {
    FEEDRATE_UNROLL
    for (int k = 0; k < 4; ++k) rows[row % kKept][k] = v[k];
  }

  // Smooths rows first … first + 2R vertically. REQUIRES: they are the last
  // ones.
  FEEDRATE_HD void Sum(int first, const float* weights, float v[4]) const {
    const int middle = first + kRadius;
    FEEDRATE_UNROLL
    for (int k = 0; k < 4; ++k) {
      v[k] = weights[0] * rows[middle % kKept][k];
      FEEDRATE_UNROLL
      for (int j = 1; j <= kRadius; ++j) {
        v[k] += weights[j] *
                (rows[(middle - j) % kKept][k] + rows[(middle + j) % kKept][k]);
      }
    }
  }
};

}  // namespace feedrate::fused
