// How a block blurs a tile of bytes: which thread smooths what, and from where.
//
// First each row that the tile needs is smoothed across, a thread a group of
// four pixels, into a table of floats. After a barrier a thread smooths down
// four elements of a row and those below them: it reads each of the table's
// rows once and keeps the last 2R + 1.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_TILE_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_TILE_H_

#include <cstdint>

#include "lib/adapters/cuda/host_device.h"
#include "lib/adapters/cuda/warp_math.h"

namespace feedrate::fused {

// Elements are bytes of a row; three of them are a pixel.
template <int kRadius>
struct BlurTile {
  // A group begins with a pixel, so that what belongs to which channel is known
  // to the compiler.
  static constexpr int kGroup = 12;
  static constexpr int kGroups = 16;
  static constexpr int kWidth = kGroup * kGroups;
  static constexpr int kHeight = 32;
  // Rows of the table.
  static constexpr int kRows = kHeight + 2 * kRadius;
  static constexpr int kThreads = 192;
  // Rows that are smoothed across at a time.
  static constexpr int kRowStep = kThreads / kGroups;
  // Smoothing down, four elements each, so many rows each.
  static constexpr int kQuads = kWidth / 4;
  static constexpr int kSegments = kThreads / kQuads;
  static constexpr int kSegmentRows = kHeight / kSegments;
  // Elements that a group reads on each side of it, and in all.
  static constexpr int kSide = 3 * kRadius;
  static constexpr int kSpan = kGroup + 2 * kSide;

  static_assert(kRowStep * kGroups == kThreads, "threads left over");
  static_assert(kSegments * kQuads == kThreads, "threads left over");
  static_assert(kSegments * kSegmentRows == kHeight, "rows left over");
};

// What the group of pixel `first` reads of a row of `width` pixels, wherever it
// lies. Slow: for groups at the border.
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

// A group smoothed across.
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

// Four elements of the last 2R + 1 rows. Indexes are constants where loops
// around it are unrolled.
template <int kRadius>
struct BlurColumn {
  static constexpr int kKept = 2 * kRadius + 1;
  float rows[kKept][4];

  FEEDRATE_HD void Put(int row, const float v[4]) {
    FEEDRATE_UNROLL
    for (int k = 0; k < 4; ++k) rows[row % kKept][k] = v[k];
  }

  // Rows first … first + 2R smoothed down. REQUIRES: they are the last ones.
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

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_TILE_H_
