#include "lib/stats/paired_design.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "glog/logging.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

// A wider interval says nothing that anyone would want to read.
constexpr double kWidestFactor = 100;

// The parts of the level for the first look that can prove a change, and for
// all looks between it and the last together. They stop a clear regression
// early; most of the level is kept for the last look, which has the most pairs.
constexpr double kFirstShare = 0.2;
constexpr double kMiddleShare = 0.05;
// Each look has a quarter more pairs than the one before, and the last at least
// this many more.
constexpr double kLookGrowth = 1.25;
constexpr int kLastStep = 3;

// Median absolute deviation from the estimate, scaled to the standard deviation
// of normal data.
double RobustSpread(absl::Span<const double> differences, double center) {
  if (differences.size() < 2) return 0;
  std::vector<double> distances;
  for (const double d : differences) distances.push_back(std::abs(d - center));
  const double n = differences.size();
  // The estimate is fitted to the values, hence n - 1.
  return 1.4826 * SelectQuantile(absl::MakeSpan(distances), 0.5) *
         std::sqrt(n / (n - 1));
}

// FloorOf for a spread of 1.
double FloorFactor(int pairs, double share) {
  if (share <= 0 || pairs < 2 || SmallestSignFlipPValue(pairs) > share) {
    return std::numeric_limits<double>::infinity();
  }
  // Power of a t test, by the usual approximation of the non-central t. With
  // that many degrees of freedom the second quantile is the normal one.
  const double df = pairs - 1;
  const double critical = StudentTQuantile(1 - share, df);
  return (critical + StudentTQuantile(kPower, 1e9) *
                         std::sqrt(1 + critical * critical / (2 * df))) /
         std::sqrt(static_cast<double>(pairs));
}

}  // namespace

double LevelFor(int64_t jobs) {
  return std::min(
      2e-5, kSuiteLevel / static_cast<double>(std::max<int64_t>(1, jobs)));
}

int LeastPairs(double share) {
  int pairs = 2;
  while (SmallestSignFlipPValue(pairs) > share && pairs < 1000) ++pairs;
  return pairs;
}

std::vector<int> DefaultLooks(int max_pairs, double level) {
  // A look right before the first one that can prove a change is a waste.
  const int proving = LeastPairs(kFirstShare * level / 2);
  std::vector<int> looks;
  int pairs = std::min(kFirstPairs, proving);
  while (pairs <= max_pairs - kLastStep) {
    looks.push_back(pairs);
    const int next = static_cast<int>(pairs * kLookGrowth);
    pairs = pairs < proving && next >= proving - 1 ? proving
                                                   : std::max(pairs + 1, next);
  }
  looks.push_back(max_pairs);
  return looks;
}

std::vector<int> LooksFor(double spread, double level, double interest_percent,
                          int max_pairs) {
  const double interest = std::log1p(interest_percent / 100);
  for (int pairs = kFirstPairs; pairs < max_pairs; ++pairs) {
    const PairedDesign design{DefaultLooks(pairs, level), level,
                              interest_percent};
    const int last = static_cast<int>(design.looks.size()) - 1;
    if (FloorOf(spread, pairs, ShareOfLook(design, last)) <= interest) {
      return design.looks;
    }
  }
  return DefaultLooks(max_pairs, level);
}

double ShareOfLook(const PairedDesign& design, int look) {
  const int last = static_cast<int>(design.looks.size()) - 1;
  CHECK(look >= 0 && look <= last);
  const double side = design.level / 2;
  const auto can = [&design](int i, double share) {
    return SmallestSignFlipPValue(design.looks[i]) <= share;
  };
  int first = 0;
  while (first < last && !can(first, kFirstShare * side)) ++first;
  if (look < first) return 0;
  if (first == last) return side;
  if (look == first) return kFirstShare * side;
  // The middle looks that can use an equal part get equal parts.
  int able = 0;
  const double least = kMiddleShare * side / std::max(1, last - first - 1);
  for (int i = first + 1; i < last; ++i) able += can(i, least);
  const double spent = kFirstShare + (able > 0 ? kMiddleShare : 0);
  if (look == last) return (1 - spent) * side;
  return can(look, least) ? kMiddleShare * side / able : 0;
}

double FloorOf(double spread, int pairs, double share) {
  // Quantiles of t cost more than the rest of a look, and only few different
  // ones are needed.
  thread_local std::map<std::pair<int, double>, double> known;
  const auto added = known.emplace(std::make_pair(pairs, share), 0);
  if (added.second) added.first->second = FloorFactor(pairs, share);
  return std::isinf(added.first->second) ? added.first->second
                                         : spread * added.first->second;
}

PairedLook LookAt(absl::Span<const double> differences,
                  const PairedDesign& design, int look, bool exact_p_value) {
  const double share = ShareOfLook(design, look);
  const double interest = std::log1p(design.interest_percent / 100);
  PairedLook result;
  const int last = static_cast<int>(design.looks.size()) - 1;
  const Location location =
      LocationOf(differences, look < last ? kEarlyConfidence : kConfidence);
  result.estimate = location.estimate;
  result.interval = location.interval;
  result.spread = RobustSpread(differences, location.estimate);
  const int pairs = std::max<int>(design.looks[last], differences.size());
  result.floor = FloorOf(result.spread, pairs, ShareOfLook(design, last));

  std::vector<double> scores = LimitedScores(differences);
  if (result.estimate < 0) {
    for (double& score : scores) score = -score;
  }
  const double p = SignFlipPValue(scores, exact_p_value ? 1 : share);
  result.p_value = std::min(1.0, 2 * p);
  const bool is_proved = p <= share;
  result.is_small_change =
      is_proved && std::abs(result.estimate) < interest / 2;
  if (is_proved && !result.is_small_change) {
    result.verdict =
        result.estimate > 0 ? PairedVerdict::kSlower : PairedVerdict::kFaster;
  } else if (result.interval && result.interval->low > -interest &&
             result.interval->high < interest) {
    result.verdict = PairedVerdict::kSame;
  }
  return result;
}

std::string PairedVerdictName(PairedVerdict verdict) {
  switch (verdict) {
    case PairedVerdict::kSame:
      return "same";
    case PairedVerdict::kFaster:
      return "faster";
    case PairedVerdict::kSlower:
      return "slower";
    case PairedVerdict::kCannotTell:
      break;
  }
  return "cannot_tell";
}

namespace {

// Limit of a score, relative to the median absolute value. Chosen by simulation
// (lib/gate:simulate). With 3 it finds 0.5% more of 2% slowdowns in log-normal
// noise, but where one run in 30 is disturbed it finds only 53% of 3%
// slowdowns; with 1.25 it finds 82% of those. With 1 it finds 0.7% less and
// 86%.
constexpr double kScoreLimit = 1.25;

// Sums of all subsets of `sizes` that are at most `most`, ascending.
std::vector<double> SubsetSums(absl::Span<const double> sizes, double most) {
  std::vector<double> sums = {0};
  std::vector<double> with;
  std::vector<double> merged;
  for (const double size : sizes) {
    with.clear();
    for (const double sum : sums) {
      if (sum + size > most) break;
      with.push_back(sum + size);
    }
    merged.resize(sums.size() + with.size());
    std::merge(sums.begin(), sums.end(), with.begin(), with.end(),
               merged.begin());
    sums.swap(merged);
  }
  return sums;
}

// Counts subsets of `sizes` whose sum is at most `most`: lists each half's
// subsets, then walks up one list and down the other.
double CountSubsets(absl::Span<const double> sizes, double most) {
  const size_t half = sizes.size() / 2;
  const std::vector<double> low = SubsetSums(sizes.subspan(0, half), most);
  const std::vector<double> high = SubsetSums(sizes.subspan(half), most);
  double count = 0;
  size_t fitting = high.size();
  for (const double sum : low) {
    while (fitting > 0 && sum + high[fitting - 1] > most) --fitting;
    if (fitting == 0) break;
    count += static_cast<double>(fitting);
  }
  return count;
}

// A lower bound of CountSubsets: if the m largest together fit, so does any
// subset of at most m. `falling` holds the sizes in descending order.
double CountSmallSubsets(absl::Span<const double> falling, double most) {
  const double n = static_cast<double>(falling.size());
  double count = 1;
  double choices = 1;
  double sum = 0;
  for (size_t m = 0; m < falling.size(); ++m) {
    sum += falling[m];
    if (sum > most) break;
    choices *= (n - m) / (m + 1.0);
    count += choices;
  }
  return count;
}

double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// 1 / (4 P(Z > sqrt(2))), the best possible constant.
double NormalBound(double t) {
  return std::min(1.0, NormalTail(t) / (4 * NormalTail(std::sqrt(2.0))));
}

}  // namespace

double SignFlipPValue(absl::Span<const double> values, double enough) {
  std::vector<double> sizes;
  double against = 0;
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sizes.push_back(std::abs(value));
    if (value < 0) against -= value;
    sum += value;
    squares += value * value;
  }
  if (squares == 0) return 1;
  if (sizes.size() > kMaxExactFlips) return NormalBound(sum / sqrt(squares));
  std::sort(sizes.begin(), sizes.end(), std::greater<double>());
  // Ties count as "at least", whatever the rounding.
  const double most = against + 1e-12 * std::sqrt(squares);
  const double patterns = std::ldexp(1.0, static_cast<int>(sizes.size()));
  const double at_least = CountSmallSubsets(sizes, most) / patterns;
  if (at_least > enough) return at_least;
  return CountSubsets(sizes, most) / patterns;
}

double SmallestSignFlipPValue(int n) {
  if (n <= kMaxExactFlips) return std::ldexp(1.0, -n);
  return NormalBound(std::sqrt(static_cast<double>(n)));
}

std::vector<double> LimitedScores(absl::Span<const double> values) {
  // Pairs without a difference say nothing about its size.
  std::vector<double> sizes;
  for (const double value : values) {
    if (value != 0) sizes.push_back(std::abs(value));
  }
  std::vector<double> scores(values.begin(), values.end());
  if (sizes.empty()) return scores;
  const double limit = kScoreLimit * SelectQuantile(absl::MakeSpan(sizes), .5);
  for (double& score : scores) {
    score = std::max(-limit, std::min(limit, score));
  }
  return scores;
}

namespace {

// Above this number of values the rank sum is normal to many digits, and
// counting would take n^3 steps.
constexpr int kMaxCounted = 100;

// The largest w with P(W <= w) <= tail, where W is the sum of positive ranks.
// -1 if there is none.
int64_t CountedQuantile(int n, double tail) {
  const int total = n * (n + 1) / 2;
  std::vector<double> chance(total + 1, 0.0);
  chance[0] = 1;
  int reached = 0;
  for (int rank = 1; rank <= n; ++rank) {
    reached += rank;
    for (int sum = reached; sum >= 0; --sum) {
      chance[sum] =
          0.5 * (chance[sum] + (sum >= rank ? chance[sum - rank] : 0.0));
    }
  }
  double below = 0;
  int64_t w = -1;
  while (below + chance[w + 1] <= tail) below += chance[++w];
  return w;
}

int64_t NormalQuantileOfRanks(int n, double tail) {
  // Student's t with many degrees of freedom is the normal distribution.
  const double z = StudentTQuantile(tail, 1e9);
  const double m = n;
  const double sd = std::sqrt(m * (m + 1) * (2 * m + 1) / 24);
  return static_cast<int64_t>(m * (m + 1) / 4 + z * sd);
}

Interval StudentInterval(absl::Span<const double> values, double confidence) {
  const double n = values.size();
  double mean = 0;
  for (const double value : values) mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double half = StudentTQuantile(0.5 + confidence / 2, n - 1) *
                      std::sqrt(squares / (n - 1) / n);
  return {mean - half, mean + half};
}

}  // namespace

int64_t MeansOutside(int n, double confidence) {
  static std::mutex mutex;
  static auto* known = new std::map<std::pair<int, double>, int64_t>();
  thread_local std::pair<int, double> last_key{-1, 0};
  thread_local int64_t last_value = 0;
  const std::pair<int, double> key{n, confidence};
  if (key == last_key) return last_value;
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = known->find(key);
  if (found == known->end()) {
    const double tail = (1 - confidence) / 2;
    const int64_t w = n <= kMaxCounted ? CountedQuantile(n, tail)
                                       : NormalQuantileOfRanks(n, tail);
    found = known->emplace(key, w).first;
  }
  last_key = key;
  last_value = found->second;
  return last_value;
}

Location LocationOf(absl::Span<const double> values, double confidence) {
  const size_t n = values.size();
  CHECK_GT(n, 0);
  std::vector<double> means;
  means.reserve(n * (n + 1) / 2);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) means.push_back((values[i] + values[j]) / 2);
  }
  const size_t count = means.size();
  const auto nth = [&means](size_t k) {
    std::nth_element(means.begin(), means.begin() + k, means.end());
    return means[k];
  };
  Location location;
  location.estimate = count % 2 == 1
                          ? nth(count / 2)
                          : (nth(count / 2) + nth(count / 2 - 1)) / 2;
  const int64_t outside = MeansOutside(static_cast<int>(n), confidence);
  if (outside >= 0) {
    location.interval = Interval{nth(outside), nth(count - 1 - outside)};
  } else if (n > 1) {
    Interval interval = StudentInterval(values, confidence);
    interval.low = std::min(interval.low, location.estimate);
    interval.high = std::max(interval.high, location.estimate);
    if (interval.high - interval.low < std::log(kWidestFactor)) {
      location.interval = interval;
    }
  }
  return location;
}

}  // namespace feedrate
