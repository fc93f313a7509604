#include "lib/draw/scale.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/draw/number_text.h"

namespace feedrate {
namespace {

// Smallest number of the form {1, 2, 5} × 10^k that is not below `value`.
double RoundStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (value <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

constexpr int kStepsOfWidening = 5;

}  // namespace

Scale::Scale(ScaleType type, double low, double high, bool from_zero)
    : type_(type), low_(low), high_(high) {
  if (!std::isfinite(low_)) low_ = 0;
  if (!std::isfinite(high_)) high_ = 1;
  if (low_ > high_) std::swap(low_, high_);
  if (type_ == ScaleType::kLog) {
    if (high_ <= 0) high_ = 1;
    if (low_ <= 0) low_ = high_ / 1000;
    if (low_ == high_) {
      low_ /= 2;
      high_ *= 2;
    }
    return;
  }
  if (from_zero) {
    low_ = std::min(low_, 0.0);
    high_ = std::max(high_, 0.0);
  }
  if (low_ == high_) high_ = low_ + (low_ == 0 ? 1 : std::abs(low_));
  const double step = RoundStep((high_ - low_) / kStepsOfWidening);
  low_ = std::floor(low_ / step + 1e-9) * step;
  high_ = std::ceil(high_ / step - 1e-9) * step;
}

void Scale::SetRange(double start, double end) {
  start_ = start;
  end_ = end;
}

double Scale::Map(double value) const {
  value = std::min(std::max(value, low_), high_);
  const double share = type_ == ScaleType::kLinear
                           ? (value - low_) / (high_ - low_)
                           : std::log(value / low_) / std::log(high_ / low_);
  return start_ + share * (end_ - start_);
}

std::vector<Tick> Scale::Ticks(int wanted) const {
  return type_ == ScaleType::kLinear ? LinearTicks(wanted) : LogTicks(wanted);
}

std::vector<Tick> Scale::LinearTicks(int wanted) const {
  const double step = RoundStep((high_ - low_) / std::max(1, wanted));
  std::vector<Tick> ticks;
  for (double i = std::ceil(low_ / step - 1e-9); i * step <= high_ + step / 1e6;
       ++i) {
    ticks.push_back({i * step, ShortNumberText(i * step)});
  }
  return ticks;
}

std::vector<Tick> Scale::LogTicks(int wanted) const {
  const double decades = std::log10(high_ / low_);
  // What labelled ticks of a decade there is room for.
  const bool halves = 3 * decades <= wanted + 1;
  const bool all = 9 * decades <= wanted + 3;
  const int every = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low_)));
  const int last = static_cast<int>(std::ceil(std::log10(high_)));
  for (int power = first; power <= last; ++power) {
    for (int factor = 1; factor <= 9; ++factor) {
      const double value = factor * std::pow(10, power);
      if (value < low_ * (1 - 1e-9) || value > high_ * (1 + 1e-9)) continue;
      const bool labelled =
          factor == 1 ? (power - first) % every == 0
                      : all || (halves && (factor == 2 || factor == 5));
      if (!labelled && decades > 6) continue;
      ticks.push_back({value, labelled ? ShortNumberText(value) : ""});
    }
  }
  return ticks;
}

}  // namespace feedrate
