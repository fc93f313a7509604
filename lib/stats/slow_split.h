// Checks SplitByLevel against its definition, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "lib/stats/change_points.h"

namespace feedrate {

// The cost of values [from, to) as one stretch at its best level.
inline double StretchCost(absl::Span<const double> values, size_t from,
                          size_t to, const LevelCost& cost) {
  double best = std::numeric_limits<double>::infinity();
  // Levels are taken from all values; the best is not always one of its own.
  for (const double level : values) {
    double sum = 0;
    for (size_t i = from; i < to; ++i) {
      const double d =
          std::min(std::abs(values[i] - level) / cost.noise, cost.max_distance);
      sum += d * d;
    }
    best = std::min(best, sum);
  }
  return best;
}

// The cost of a given split. Infinite if a stretch is too short.
inline double SplitCost(absl::Span<const double> values,
                        const std::vector<size_t>& places,
                        const LevelCost& cost) {
  if (values.empty()) return 0;
  double sum = cost.step * static_cast<double>(places.size());
  size_t from = 0;
  for (size_t i = 0; i <= places.size(); ++i) {
    const size_t to = i < places.size() ? places[i] : values.size();
    if (!places.empty() && to < from + cost.min_length) {
      return std::numeric_limits<double>::infinity();
    }
    sum += StretchCost(values, from, to, cost);
    from = to;
  }
  return sum;
}

// The cost of the cheapest split, by trying every last stretch of every
// beginning. Takes time with the fourth power of the number of values.
inline double SlowSplitCost(absl::Span<const double> values,
                            const LevelCost& cost) {
  const size_t n = values.size();
  if (n == 0) return 0;
  const size_t least = std::max<size_t>(1, cost.min_length);
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  for (size_t to = 1; to <= n; ++to) {
    if (to >= least || to == n) best[to] = StretchCost(values, 0, to, cost);
    for (size_t from = least; from + least <= to; ++from) {
      best[to] = std::min(best[to], best[from] + cost.step +
                                        StretchCost(values, from, to, cost));
    }
  }
  return best[n];
}

}  // namespace feedrate
