#include "lib/stats/sample_quantiles.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "glog/logging.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

// Ends of a bin differ by this factor: 0.1% to either side of its middle.
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

void SampleQuantiles::Merge(const SampleQuantiles& other) {
  for (const double value : other.values_) Add(value);
  if (other.bins_.empty()) return;
  for (const double value : values_) ++bins_[BinOf(value)];
  values_.clear();
  for (const auto& [bin, count] : other.bins_) {
    bins_[bin] += count;
    count_ += count;
  }
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
