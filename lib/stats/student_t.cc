#include "lib/stats/student_t.h"

#include <math.h>  // lgamma_r, which unlike std::lgamma has no global state

#include <cmath>

#include "glog/logging.h"

namespace feedrate {
namespace {

double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// Continued fraction of the incomplete beta function, by Lentz's method. It
// converges fast for x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-15;
  // Far more than any degrees of freedom that occur need.
  constexpr int kMaxTerms = 10000;
  const auto away_from_zero = [](double v) {
    return std::abs(v) < kTiny ? kTiny : v;
  };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double h = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    for (const double term :
         {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      h *= c * d;
    }
    if (std::abs(c * d - 1) < kPrecision) break;
  }
  return h;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double StudentTCdf(double t, double df) {
  CHECK_GT(df, 0);
  const double tail = IncompleteBeta(df / 2, 0.5, df / (df + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

double StudentTQuantile(double p, double df) {
  CHECK(p > 0 && p < 1) << p;
  if (p < 0.5) return -StudentTQuantile(1 - p, df);
  double low = 0;
  double high = 1;
  while (StudentTCdf(high, df) < p) high *= 2;
  // Halving until neighbouring doubles: slow and sure, and called rarely.
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (StudentTCdf(middle, df) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace feedrate
