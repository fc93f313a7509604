#include "lib/stats/change_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// More levels than this are thinned: the time grows with values times levels.
constexpr size_t kMaxLevels = 512;
// At least this share of the shorter stretch must lie beyond the middle between
// the two levels.
constexpr double kMajority = 0.68;
// From this many steps in a row on that cancel each other, they are noise.
constexpr size_t kFlips = 4;
// Standard deviations of a correlation of neighbors that are beyond chance.
constexpr double kCertain = 3;
// Deviations below this are rounding errors.
constexpr double kRounding = 1e-9;
// The noise is at least this share of the smallest step that is reported, so
// that rounded values do not turn into levels.
constexpr double kLeastNoise = 0.125;

// Standard deviation of the noise, from the distances between neighbors, which
// a few steps and spikes do not move. The 80% quantile sees noise with two
// levels, which the median may not.
double NoiseOf(absl::Span<const double> values) {
  std::vector<double> distances;
  for (size_t i = 1; i < values.size(); ++i) {
    distances.push_back(std::abs(values[i] - values[i - 1]));
  }
  if (distances.empty()) return 0;
  std::sort(distances.begin(), distances.end());
  return std::max(SortedQuantile(distances, 0.5) / 0.6745,
                  SortedQuantile(distances, 0.8) / 1.2816) /
         std::sqrt(2.0);
}

std::vector<double> LevelsOf(absl::Span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() <= kMaxLevels) return sorted;
  std::vector<double> levels;
  for (size_t i = 0; i < kMaxLevels; ++i) {
    levels.push_back(sorted[i * (sorted.size() - 1) / (kMaxLevels - 1)]);
  }
  return levels;
}

// Points between two steps.
struct Stretch {
  absl::Span<const double> values;
  // Mean of the points that are not outliers.
  double level = 0;
  // Sum of squared deviations, outliers at the limit.
  double squares = 0;
  // Points further from the median than this are outliers.
  double median = 0;
  double limit = kInfinity;

  double n() const { return static_cast<double>(values.size()); }
  bool IsOutlier(double v) const { return std::abs(v - median) > limit; }
};

class Finder {
 public:
  Finder(absl::Span<const double> values, const ChangePointOptions& options)
      : values_(values), options_(options) {
    cost_.noise = std::max(NoiseOf(values), kLeastNoise * options.min_shift);
    cost_.min_length = options.min_length;
  }

  std::vector<Step> Find() {
    places_ = SplitByLevel(values_, cost_);
    DropWeak();
    for (int round = 0; round < 3; ++round) MovePlaces();
    DropWeak();
    DropFlips();
    alike_ = PointsAlike();
    if (alike_ > 1) DropWeak();
    std::vector<Step> steps;
    for (size_t i = 0; i < places_.size(); ++i) {
      steps.push_back(Describe(places_[i], Before(i), After(i)));
    }
    for (size_t i = 0; i < steps.size(); ++i) FindReturn(steps, i, &steps[i]);
    AddRests(&steps);
    return steps;
  }

 private:
  const Stretch& At(size_t from, size_t to) {
    const auto added = stretches_.try_emplace({from, to});
    Stretch& stretch = added.first->second;
    if (!added.second) return stretch;
    stretch.values = values_.subspan(from, to - from);
    stretch.median = Median(stretch.values);
    std::vector<double> distances;
    for (const double v : stretch.values) {
      distances.push_back(std::abs(v - stretch.median));
    }
    stretch.limit =
        cost_.max_distance * std::max(cost_.noise, 1.4826 * Median(distances));
    double inside = 0;
    for (const double v : stretch.values) {
      if (stretch.IsOutlier(v)) continue;
      stretch.level += v;
      ++inside;
    }
    stretch.level /= inside;
    for (const double v : stretch.values) {
      const double d = std::min(std::abs(v - stretch.level), stretch.limit);
      stretch.squares += d * d;
    }
    return stretch;
  }
  const Stretch& Before(size_t i) {
    return At(i == 0 ? 0 : places_[i - 1], places_[i]);
  }
  const Stretch& After(size_t i) {
    const bool is_last = i + 1 == places_.size();
    return At(places_[i], is_last ? values_.size() : places_[i + 1]);
  }

  // How many points in a row count as one observation, by the correlation of
  // neighbors within their stretches. 1 unless it is certain: correlated noise
  // stays away from a level for some points.
  double PointsAlike() {
    if (places_.empty()) return 1;
    double products = 0;
    double squares = 0;
    for (size_t i = 0; i <= places_.size(); ++i) {
      const Stretch& stretch = i == 0 ? Before(0) : After(i - 1);
      double last = 0;
      for (const double v : stretch.values) {
        const double d = std::max(-stretch.limit,
                                  std::min(v - stretch.level, stretch.limit));
        products += last * d;
        squares += d * d;
        last = d;
      }
    }
    if (squares < kRounding * kRounding * values_.size()) return 1;
    const double correlation = products / squares;
    if (correlation < kCertain / std::sqrt(values_.size())) return 1;
    return (1 + correlation) / (1 - correlation);
  }

  // Two-sided p-value of Student's t test, times the number of places. `alike`
  // points in a row count as one observation.
  double PValue(const Stretch& a, const Stretch& b, double alike) const {
    if (a.level == b.level) return 1;
    const double df = (a.n() + b.n()) / alike - 2;
    if (df <= 0) return 1;
    const double variance = (a.squares + b.squares) / (a.n() + b.n() - 2);
    if (variance <= 0) return 0;
    const double t = std::abs(a.level - b.level) /
                     std::sqrt(variance * alike * (1 / a.n() + 1 / b.n()));
    return std::min(1.0, 2 * StudentTCdf(-t, df) * values_.size());
  }

  // Number of points of `stretch` on the side of `level`.
  template <typename Counts>
  static double CountBeyond(const Stretch& stretch, double middle, double level,
                            const Counts& counts) {
    double count = 0;
    for (const double v : stretch.values) {
      count += (v > middle) == (level > middle) && counts(v);
    }
    return count;
  }

  // Probability that outliers, as frequent as in `longer`, put `count` of the
  // points of `shorter` beyond the middle, times the number of places.
  double ChanceOfOutliers(const Stretch& shorter, const Stretch& longer,
                          double middle, double count) const {
    const double outliers =
        CountBeyond(longer, middle, shorter.level,
                    [&](double v) { return longer.IsOutlier(v); });
    if (outliers == 0) return 0;
    const double share = outliers / longer.n();
    double tail = 0;
    for (double k = count; k <= shorter.n(); ++k) {
      tail += std::exp(std::lgamma(shorter.n() + 1) - std::lgamma(k + 1) -
                       std::lgamma(shorter.n() - k + 1) + k * std::log(share) +
                       (shorter.n() - k) * std::log1p(-share));
    }
    return tail * values_.size();
  }

  // Whether the step is large enough, most points of the shorter stretch share
  // it, and neither one point of it nor chance outliers explain it.
  bool IsShared(const Stretch& before, const Stretch& after) const {
    const bool use_after = after.n() <= before.n();
    const Stretch& shorter = use_after ? after : before;
    const Stretch& longer = use_after ? before : after;
    const double shift = shorter.level - longer.level;
    if (std::abs(shift) < options_.min_shift) return false;
    const auto range =
        std::minmax_element(shorter.values.begin(), shorter.values.end());
    const double extreme = shift > 0 ? *range.second : *range.first;
    const double rest =
        shorter.IsOutlier(extreme)
            ? shift
            : shift - (extreme - shorter.level) / (shorter.n() - 1);
    if (std::abs(rest) < options_.min_shift) return false;
    const double middle = (shorter.level + longer.level) / 2;
    const double count = CountBeyond(shorter, middle, shorter.level,
                                     [](double) { return true; });
    return count >= kMajority * shorter.n() &&
           ChanceOfOutliers(shorter, longer, middle, count) <=
               options_.max_p_value;
  }

  // How far a step is from being reported. It is reported at 1 or below.
  double Weakness(const Stretch& before, const Stretch& after) const {
    return Weakness(before, after, alike_);
  }
  double Weakness(const Stretch& before, const Stretch& after,
                  double alike) const {
    if (std::min(before.values.size(), after.values.size()) <
        options_.min_length) {
      return kInfinity;
    }
    const double p = PValue(before, after, alike) / options_.max_p_value;
    return IsShared(before, after) ? p : 2 + p;
  }

  void DropWeak() {
    while (true) {
      size_t weakest = places_.size();
      double most = 1;
      for (size_t i = 0; i < places_.size(); ++i) {
        const double weakness = Weakness(Before(i), After(i));
        if (weakness > most) {
          most = weakness;
          weakest = i;
        }
      }
      if (weakest == places_.size()) return;
      places_.erase(places_.begin() + weakest);
    }
  }

  // Moves each step to the cheapest place between its neighbors. The levels
  // stay, so that outliers cannot pull a step to themselves.
  void MovePlaces() {
    for (size_t i = 0; i < places_.size(); ++i) {
      const size_t from = i == 0 ? 0 : places_[i - 1];
      const size_t to =
          i + 1 == places_.size() ? values_.size() : places_[i + 1];
      const double a = Before(i).level;
      const double b = After(i).level;
      double cost = 0;
      double least = kInfinity;
      size_t best = places_[i];
      for (size_t split = from; split + options_.min_length <= to; ++split) {
        if (split >= from + options_.min_length && cost < least) {
          least = cost;
          best = split;
        }
        cost += CostOf(values_[split], a) - CostOf(values_[split], b);
      }
      places_[i] = best;
    }
  }

  double CostOf(double value, double level) const {
    const double d =
        std::min(std::abs(value - level) / cost_.noise, cost_.max_distance);
    return d * d;
  }

  double ShiftAt(size_t i) { return After(i).level - Before(i).level; }

  bool Cancel(size_t i) {
    const double one = ShiftAt(i);
    const double two = ShiftAt(i + 1);
    return std::abs(one + two) < 0.5 * std::max(std::abs(one), std::abs(two));
  }

  // Replaces runs of steps that cancel by the one of them, if any, that is
  // confirmed alone.
  void DropFlips() {
    for (size_t first = 0; first < places_.size(); ++first) {
      size_t last = first;
      while (last + 1 < places_.size() && Cancel(last)) ++last;
      if (last - first + 1 < kFlips) continue;
      const size_t from = first == 0 ? 0 : places_[first - 1];
      const size_t to =
          last + 1 == places_.size() ? values_.size() : places_[last + 1];
      // Points of one flip are alike.
      const double alike = static_cast<double>(places_[last] - places_[first]) /
                           static_cast<double>(last - first);
      double least = 1;
      size_t best = to;
      for (size_t i = first; i <= last; ++i) {
        const double weakness =
            Weakness(At(from, places_[i]), At(places_[i], to), alike);
        if (weakness > least) continue;
        least = weakness;
        best = places_[i];
      }
      places_.erase(places_.begin() + first, places_.begin() + last + 1);
      if (best != to) places_.insert(places_.begin() + first, best);
    }
    DropWeak();
  }

  Step Describe(size_t place, const Stretch& before, const Stretch& after) {
    Step step;
    step.index = place;
    step.before =
        before.values.data() + before.values.size() - values_.data() - 1;
    step.shift = after.level - before.level;
    step.p_value = PValue(before, after, alike_);
    return step;
  }

  // Sets gone_at if the steps after steps[last] bring back the level before
  // `step`.
  static void FindReturn(const std::vector<Step>& steps, size_t last,
                         Step* step) {
    double away = step->shift;
    for (size_t j = last + 1; j < steps.size(); ++j) {
      away += steps[j].shift;
      if (away / step->shift < 0.5) {
        step->gone_at = steps[j].index;
        return;
      }
    }
  }

  // Adds a step for what is left when a step has gone away.
  void AddRests(std::vector<Step>* steps) {
    std::vector<Step> all;
    size_t j = 0;
    size_t burst = steps->size();  // The step that began the current burst.
    for (size_t i = 0; i < steps->size(); ++i) {
      all.push_back((*steps)[i]);
      if (burst == steps->size() && (*steps)[i].gone_at > 0) {
        burst = i;
        j = i;
        while ((*steps)[j].index != (*steps)[i].gone_at) ++j;
      } else if (burst != steps->size() && i == j) {
        const Stretch& before = Before(burst);
        const Stretch& after = After(j);
        if (Weakness(before, after) <= 1) {
          Step rest = Describe(places_[j], before, after);
          FindReturn(*steps, j, &rest);
          all.push_back(rest);
        }
        burst = steps->size();
      }
    }
    *steps = std::move(all);
  }

  const absl::Span<const double> values_;
  const ChangePointOptions options_;
  LevelCost cost_;
  std::vector<size_t> places_;
  double alike_ = 1;
  std::map<std::pair<size_t, size_t>, Stretch> stretches_;
};

}  // namespace

// The cheapest split by dynamic programming: for each point and level, the
// least cost of all before when the point belongs to a stretch at this level.
// Stretches younger than min_length are kept apart, because they may not end.
std::vector<size_t> SplitByLevel(absl::Span<const double> values,
                                 const LevelCost& cost) {
  const size_t n = values.size();
  const size_t least = std::max<size_t>(1, cost.min_length);
  if (n < 2 * least) return {};
  const std::vector<double> levels = LevelsOf(values);
  const size_t count = levels.size();
  // by_age[a][g]: stretches at level g with a + 1 points, the last with at
  // least `least`.
  std::vector<std::vector<double>> by_age(
      least, std::vector<double>(count, kInfinity));
  // Whether the cheapest stretch at this point and level has just become old
  // enough to end.
  std::vector<std::vector<bool>> has_grown_up(n, std::vector<bool>(count));
  // The level of the cheapest old stretch at each point.
  std::vector<size_t> cheapest(n);
  double least_cost = 0;
  for (size_t t = 0; t < n; ++t) {
    const double start = t == 0 ? 0 : least_cost + cost.step;
    least_cost = kInfinity;
    for (size_t g = 0; g < count; ++g) {
      const double d = std::min(std::abs(values[t] - levels[g]) / cost.noise,
                                cost.max_distance);
      double before = start;
      for (size_t a = 0; a + 1 < least; ++a) {
        before = std::exchange(by_age[a][g], before + d * d);
      }
      double& old = by_age[least - 1][g];
      has_grown_up[t][g] = before < old;
      old = std::min(old, before) + d * d;
      if (old < least_cost) {
        least_cost = old;
        cheapest[t] = g;
      }
    }
  }
  std::vector<size_t> places;
  size_t g = cheapest[n - 1];
  for (size_t t = n - 1; t + 1 > least; --t) {
    if (!has_grown_up[t][g]) continue;
    t = t - least + 1;
    if (t == 0) break;
    places.push_back(t);
    g = cheapest[t - 1];
  }
  std::reverse(places.begin(), places.end());
  return places;
}

std::vector<Step> FindSteps(absl::Span<const double> values,
                            const ChangePointOptions& options) {
  return Finder(values, options).Find();
}

}  // namespace feedrate
