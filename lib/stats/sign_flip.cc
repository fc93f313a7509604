#include "lib/stats/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

// Limit of a score over the median size. By simulation (lib/gate/simulate): 3
// finds 0.5% more of 2% slowdowns in log-normal noise, but where one run in 30
// is disturbed only 53% of 3% slowdowns, this 82%; with 1 it is 0.7% less and
// 86%.
constexpr double kScoreLimit = 1.25;

// Sums of all subsets of `sizes` that are at most `most`, in rising order.
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

// Subsets of `sizes` whose sum is at most `most`: each half's subsets, then
// one walk up one list and down the other.
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

// A lower bound of CountSubsets: when the m largest together fit, so does any
// subset of at most m. `falling`: sizes from the largest down.
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

// 1 / (4 P(Z > sqrt(2))), the best constant there is.
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
  // Ties count as "at least", rounding or not.
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
  std::vector<double> scores(values.begin(), values.end());
  if (scores.empty()) return scores;
  for (double& score : scores) score = std::abs(score);
  const double limit = kScoreLimit * SelectQuantile(absl::MakeSpan(scores), .5);
  for (size_t i = 0; i < values.size(); ++i) {
    scores[i] = std::max(-limit, std::min(limit, values[i]));
  }
  return scores;
}

}  // namespace feedrate
