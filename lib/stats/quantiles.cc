#include "lib/stats/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "glog/logging.h"

namespace feedrate {
namespace {

struct Position {
  size_t below;
  double fraction;
};

Position PositionOf(size_t n, double p) {
  CHECK_GT(n, 0u);
  CHECK(p >= 0 && p <= 1) << p;
  const double at = p * static_cast<double>(n - 1);
  const size_t below = static_cast<size_t>(at);
  return {below, at - static_cast<double>(below)};
}

// Exact when both ends are equal, even if they are infinite.
double Between(double low, double high, double fraction) {
  return low == high ? low : low + (high - low) * fraction;
}

}  // namespace

double SortedQuantile(absl::Span<const double> sorted, double p) {
  const Position at = PositionOf(sorted.size(), p);
  if (at.fraction == 0) return sorted[at.below];
  return Between(sorted[at.below], sorted[at.below + 1], at.fraction);
}

double SelectQuantile(absl::Span<double> values, double p) {
  const Position at = PositionOf(values.size(), p);
  const auto middle = values.begin() + static_cast<ptrdiff_t>(at.below);
  std::nth_element(values.begin(), middle, values.end());
  if (at.fraction == 0) return *middle;
  // The values after `middle` are not smaller; their minimum is the next one.
  return Between(*middle, *std::min_element(middle + 1, values.end()),
                 at.fraction);
}

double Quantile(absl::Span<const double> values, double p) {
  std::vector<double> copy(values.begin(), values.end());
  return SelectQuantile(absl::MakeSpan(copy), p);
}

double Median(absl::Span<const double> values) { return Quantile(values, 0.5); }

double TrimmedMean(absl::Span<double> values) {
  const size_t n = values.size();
  CHECK_GT(n, 0);
  const size_t cut = n < 3 ? 0 : std::max<size_t>(1, n / 5);
  if (cut > 0) std::sort(values.begin(), values.end());
  const double sum =
      std::accumulate(values.begin() + cut, values.end() - cut, 0.0);
  return sum / static_cast<double>(n - 2 * cut);
}

double TypicalLog(absl::Span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    CHECK_GT(value, 0);
    logs.push_back(std::log(value));
  }
  return TrimmedMean(absl::MakeSpan(logs));
}

namespace {

// Logarithm of the ratio of a bin's ends: 0.1% to either side of its middle.
const double kLogWidth = std::log(1.002);
constexpr int32_t kZeroBin = std::numeric_limits<int32_t>::min();

int32_t BinOf(double value) {
  if (!(value > 0)) return kZeroBin;
  return static_cast<int32_t>(std::floor(std::log(value) / kLogWidth));
}

double MiddleOf(int32_t bin) {
  return bin == kZeroBin ? 0 : std::exp((bin + 0.5) * kLogWidth);
}

}  // namespace

void SampleQuantiles::Add(double value) {
  ++count_;
  if (!bins_.empty()) {
    ++bins_[BinOf(value)];
    return;
  }
  values_.push_back(value > 0 ? value : 0);
  SpillIfFull();
}

void SampleQuantiles::SpillIfFull() {
  if (values_.size() <= kExact) return;
  for (const double value : values_) ++bins_[BinOf(value)];
  values_.clear();
  values_.shrink_to_fit();
}

double SampleQuantiles::Quantile(double p) const {
  CHECK_GT(count_, 0);
  if (bins_.empty()) return feedrate::Quantile(values_, p);
  const double rank = p * static_cast<double>(count_ - 1);
  int64_t seen = 0;
  for (const auto& [bin, count] : bins_) {
    seen += count;
    if (static_cast<double>(seen) > rank) return MiddleOf(bin);
  }
  return MiddleOf(bins_.rbegin()->first);
}

}  // namespace feedrate
