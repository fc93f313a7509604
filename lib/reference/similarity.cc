#include "lib/reference/similarity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/reference/pixels.h"
#include "lib/reference/resample.h"

namespace feedrate {
namespace {

constexpr int kWindow = 8;
constexpr int kStride = 4;
// The outermost pixels are left out of shifted comparisons: a shift would make
// them up.
constexpr int kMargin = 1;

double WindowSsim(const Pixels& a, const Pixels& b, int top, int left, int c) {
  const int bottom = std::min(top + kWindow, a.height);
  const int right = std::min(left + kWindow, a.width);
  const double count = static_cast<double>(bottom - top) * (right - left);
  double sum_a = 0;
  double sum_b = 0;
  double sum_aa = 0;
  double sum_bb = 0;
  double sum_ab = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const double p = a.at(y, x, c);
      const double q = b.at(y, x, c);
      sum_a += p;
      sum_b += q;
      sum_aa += p * p;
      sum_bb += q * q;
      sum_ab += p * q;
    }
  }
  const double mean_a = sum_a / count;
  const double mean_b = sum_b / count;
  const double var_a = sum_aa / count - mean_a * mean_a;
  const double var_b = sum_bb / count - mean_b * mean_b;
  const double covariance = sum_ab / count - mean_a * mean_b;
  const double c1 = (0.01 * 255) * (0.01 * 255);
  const double c2 = (0.03 * 255) * (0.03 * 255);
  return (2 * mean_a * mean_b + c1) * (2 * covariance + c2) /
         ((mean_a * mean_a + mean_b * mean_b + c1) * (var_a + var_b + c2));
}

double InnerSquareSum(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (int y = kMargin; y < a.height - kMargin; ++y) {
    for (int x = kMargin; x < a.width - kMargin; ++x) {
      for (int c = 0; c < a.channels; ++c) {
        const double difference = a.at(y, x, c) - b.at(y, x, c);
        sum += difference * difference;
      }
    }
  }
  return sum;
}

}  // namespace

double MaxAbsDiff(const Pixels& a, const Pixels& b) {
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
  }
  return largest;
}

double Psnr(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double difference = a.values[i] - b.values[i];
    sum += difference * difference;
  }
  if (sum == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(255.0 * 255.0 * a.values.size() / sum);
}

double Ssim(const Pixels& a, const Pixels& b) {
  double sum = 0;
  int windows = 0;
  for (int c = 0; c < a.channels; ++c) {
    for (int y = 0; y == 0 || y + kWindow <= a.height; y += kStride) {
      for (int x = 0; x == 0 || x + kWindow <= a.width; x += kStride) {
        sum += WindowSsim(a, b, y, x, c);
        ++windows;
      }
    }
  }
  return sum / windows;
}

bool BestUnshifted(const Pixels& output, const Pixels& reference) {
  const double here = InnerSquareSum(output, reference);
  for (double dy : {-0.5, 0.0, 0.5}) {
    for (double dx : {-0.5, 0.0, 0.5}) {
      if (dx == 0 && dy == 0) continue;
      if (InnerSquareSum(output, Shifted(reference, {dx, dy})) < here) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace feedrate
