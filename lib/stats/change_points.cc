#include "lib/stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// Candidates with a p-value below this go to the second pass.
constexpr double kWeakPValue = 0.05;
// Points per window, and the distance between windows. A step that is later
// undone is hidden in the whole history but not in a window around it.
constexpr size_t kWindow = 30;
constexpr size_t kWindowStride = 10;
// At least this share of the shorter stretch must lie beyond the middle between
// the two means.
constexpr double kMajority = 0.68;
// Number of neighbors on each side that a point is compared with.
constexpr size_t kNeighbors = 2;
// A point further than this beyond its neighbors, in standard deviations of the
// noise, is a spike. Closer points are noise; limiting those too would make the
// noise look smaller than it is.
constexpr double kSpikeDeviations = 4;

// Standard deviation of the noise, from the median distance between neighbors,
// which a few steps and spikes do not move.
double NoiseOf(absl::Span<const double> values) {
  std::vector<double> distances;
  for (size_t i = 1; i < values.size(); ++i) {
    distances.push_back(std::abs(values[i] - values[i - 1]));
  }
  return 1.4826 / std::sqrt(2.0) * Median(distances);
}

// Returns `values` with spikes limited to the range of their neighbors.
std::vector<double> WithoutSpikes(absl::Span<const double> values) {
  const size_t n = values.size();
  std::vector<double> held(values.begin(), values.end());
  if (n < 2 * kNeighbors + 1) return held;
  const double slack = kSpikeDeviations * NoiseOf(values);
  for (size_t i = 0; i < n; ++i) {
    const size_t from = i < kNeighbors ? 0 : i - kNeighbors;
    const size_t to = std::min(n - 1, i + kNeighbors);
    std::vector<double> near;
    for (size_t j = from; j <= to; ++j) {
      if (j != i) near.push_back(values[j]);
    }
    std::sort(near.begin(), near.end());
    // Not the outermost neighbor where there are enough: two spikes must not
    // confirm each other.
    const size_t cut = near.size() == 2 * kNeighbors ? 1 : 0;
    const double low = near[cut];
    const double high = near[near.size() - 1 - cut];
    if (values[i] > high + slack) held[i] = high;
    if (values[i] < low - slack) held[i] = low;
  }
  return held;
}

struct Moments {
  double n = 0;
  double mean = 0;
  double squares = 0;  // Of deviations.
};

Moments MomentsOf(absl::Span<const double> values) {
  Moments m;
  m.n = values.size();
  for (const double v : values) m.mean += v / m.n;
  for (const double v : values) m.squares += (v - m.mean) * (v - m.mean);
  return m;
}

class Finder {
 public:
  Finder(absl::Span<const double> values, const ChangePointOptions& options)
      : values_(values), options_(options) {}

  std::vector<size_t> Find() {
    const size_t n = values_.size();
    Split(0, n);
    for (size_t from = 0; n > kWindow && from + kWindow < n + kWindowStride;
         from += kWindowStride) {
      Split(from, std::min(n, from + kWindow));
    }
    TakeBack();
    for (int round = 0; round < 3; ++round) Refine();
    TakeBack();
    return {candidates_.begin(), candidates_.end()};
  }

  // Means on both sides, and the corrected p-value of their difference.
  void Describe(const std::vector<size_t>& steps, size_t i, Step* step) const {
    const size_t from = i == 0 ? 0 : steps[i - 1];
    const size_t to = i + 1 == steps.size() ? values_.size() : steps[i + 1];
    const auto before = values_.subspan(from, steps[i] - from);
    const auto after = values_.subspan(steps[i], to - steps[i]);
    step->index = steps[i];
    step->shift = MomentsOf(after).mean - MomentsOf(before).mean;
    step->p_value = CorrectedPValue(from, steps[i], to);
  }

 private:
  // Two-sided p-value of Student's t test between two stretches.
  double PValue(size_t from, size_t split, size_t to) const {
    const Moments a = MomentsOf(values_.subspan(from, split - from));
    const Moments b = MomentsOf(values_.subspan(split, to - split));
    const double df = a.n + b.n - 2;
    const double variance = (a.squares + b.squares) / df;
    if (a.mean == b.mean) return 1;
    if (variance <= 0) return 0;
    const double t =
        std::abs(a.mean - b.mean) / std::sqrt(variance * (1 / a.n + 1 / b.n));
    return 2 * StudentTCdf(-t, df);
  }

  double CorrectedPValue(size_t from, size_t split, size_t to) const {
    const double p = PValue(from, split, to) * values_.size();
    return std::min(1.0, p);
  }

  // The split with the largest energy distance. The sums of distances are
  // updated from split to split. Returns `to` when the stretch is too short.
  size_t BestSplit(size_t from, size_t to) const {
    const size_t least = options_.min_length;
    if (to - from < 2 * least) return to;
    double within_a = 0;
    double within_b = 0;
    double between = 0;
    for (size_t i = from; i < to; ++i) {
      for (size_t j = i + 1; j < to; ++j) {
        within_b += std::abs(values_[i] - values_[j]);
      }
    }
    size_t best = to;
    double best_energy = -1;
    for (size_t split = from + 1; split + least <= to; ++split) {
      const double moved = values_[split - 1];
      double to_a = 0;
      double to_b = 0;
      for (size_t i = from; i < split - 1; ++i) {
        to_a += std::abs(moved - values_[i]);
      }
      for (size_t i = split; i < to; ++i) to_b += std::abs(moved - values_[i]);
      within_a += to_a;
      within_b -= to_b;
      between += to_b - to_a;
      if (split - from < least) continue;
      const double n = split - from;
      const double m = to - split;
      const double distance = 2 * between / (n * m) -
                              2 * within_a / (n * std::max(1.0, n - 1)) -
                              2 * within_b / (m * std::max(1.0, m - 1));
      const double energy = n * m / (n + m) * distance;
      if (energy > best_energy) {
        best_energy = energy;
        best = split;
      }
    }
    return best;
  }

  void Split(size_t from, size_t to) {
    const size_t split = BestSplit(from, to);
    if (split == to || PValue(from, split, to) > kWeakPValue) return;
    candidates_.insert(split);
    Split(from, split);
    Split(split, to);
  }

  // Whether most points of the shorter stretch share the step.
  bool HasMajority(size_t from, size_t split, size_t to) const {
    const auto before = values_.subspan(from, split - from);
    const auto after = values_.subspan(split, to - split);
    const double low = MomentsOf(before).mean;
    const double high = MomentsOf(after).mean;
    const double middle = (low + high) / 2;
    const bool use_after = after.size() <= before.size();
    const bool above = use_after == (high > low);
    const auto& shorter = use_after ? after : before;
    double taking_part = 0;
    for (const double v : shorter) taking_part += (v > middle) == above;
    return taking_part >= kMajority * shorter.size();
  }

  // The shift without the point of the shorter stretch that contributes most to
  // it: one point just below the limit for spikes must not decide.
  double ShiftWithoutExtreme(size_t from, size_t split, size_t to) const {
    const auto before = values_.subspan(from, split - from);
    const auto after = values_.subspan(split, to - split);
    const Moments low = MomentsOf(before);
    const Moments high = MomentsOf(after);
    const bool use_after = after.size() <= before.size();
    const auto& shorter = use_after ? after : before;
    const Moments& own = use_after ? high : low;
    const double other = use_after ? low.mean : high.mean;
    const auto range = std::minmax_element(shorter.begin(), shorter.end());
    const double extreme = own.mean > other ? *range.second : *range.first;
    return (own.mean * own.n - extreme) / (own.n - 1) - other;
  }

  // How far a candidate is from being reported. It is reported at 1 or below.
  double Weakness(size_t from, size_t split, size_t to) const {
    const size_t least = options_.min_length;
    if (split - from < least || to - split < least) return 1e300;
    const double shift = MomentsOf(values_.subspan(split, to - split)).mean -
                         MomentsOf(values_.subspan(from, split - from)).mean;
    const double p = CorrectedPValue(from, split, to) / options_.max_p_value;
    if (std::abs(shift) < options_.min_shift) return 2 + p;
    if (std::abs(ShiftWithoutExtreme(from, split, to)) < options_.min_shift) {
      return 2 + p;
    }
    if (!HasMajority(from, split, to)) return 2 + p;
    return p;
  }

  void TakeBack() {
    while (!candidates_.empty()) {
      auto weakest = candidates_.end();
      double most = 1;
      for (auto it = candidates_.begin(); it != candidates_.end(); ++it) {
        const double weakness = Weakness(Before(it), *it, After(it));
        if (weakness > most) {
          most = weakness;
          weakest = it;
        }
      }
      if (weakest == candidates_.end()) return;
      candidates_.erase(weakest);
    }
  }

  // Moves each step to where the sum of squared deviations is smallest.
  void Refine() {
    std::set<size_t> refined;
    for (auto it = candidates_.begin(); it != candidates_.end(); ++it) {
      const size_t from = refined.empty() ? 0 : *refined.rbegin();
      const size_t to = After(it);
      size_t best = *it;
      double least = std::numeric_limits<double>::infinity();
      for (size_t split = from + options_.min_length;
           split + options_.min_length <= to; ++split) {
        const double squares =
            MomentsOf(values_.subspan(from, split - from)).squares +
            MomentsOf(values_.subspan(split, to - split)).squares;
        if (squares < least) {
          least = squares;
          best = split;
        }
      }
      refined.insert(best);
    }
    candidates_ = std::move(refined);
  }

  size_t Before(std::set<size_t>::iterator it) const {
    return it == candidates_.begin() ? 0 : *std::prev(it);
  }
  size_t After(std::set<size_t>::iterator it) const {
    return std::next(it) == candidates_.end() ? values_.size() : *std::next(it);
  }

  const absl::Span<const double> values_;
  const ChangePointOptions options_;
  std::set<size_t> candidates_;
};

// Sets gone_at of the steps whose level comes back to what it was before.
void FindReturns(std::vector<Step>* steps) {
  for (size_t i = 0; i < steps->size(); ++i) {
    Step& step = (*steps)[i];
    double away = step.shift;
    for (size_t j = i + 1; j < steps->size(); ++j) {
      away += (*steps)[j].shift;
      if (away / step.shift < 0.5) {
        step.gone_at = (*steps)[j].index;
        break;
      }
    }
  }
}

}  // namespace

std::vector<Step> FindSteps(absl::Span<const double> values,
                            const ChangePointOptions& options) {
  const std::vector<double> held = WithoutSpikes(values);
  Finder finder(held, options);
  const std::vector<size_t> places = finder.Find();
  std::vector<Step> steps(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    finder.Describe(places, i, &steps[i]);
  }
  FindReturns(&steps);
  return steps;
}

}  // namespace feedrate
