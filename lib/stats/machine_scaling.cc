#include "lib/stats/machine_scaling.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "glog/logging.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// What machines do to single jobs has heavy tails: a cache that is just large
// enough, an instruction that one of them lacks. Degrees of freedom if a suite
// shows that, and if it is too small to.
constexpr double kTailDf = 6;
constexpr double kAssumedDf = 4;
// How much further than any job towards faster a slower one must be. Of two
// extremes with the tail of t with 4 degrees, one is three times the other in
// the given direction once in 82 cases. Both were chosen by simulation
// (simulate_machines, seed 1).
constexpr double kOddJobs = 3;
// Efficiency of the median absolute deviation.
constexpr double kMadEfficiency = 0.37;

// Solves a * x = b for a symmetric positive definite matrix.
std::vector<double> Solve(std::vector<std::vector<double>> a,
                          std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (size_t k = i; k < n; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Covariance of what two machines' distances from the new one do to a job with
// unknown weights. The weights are spread like a Dirichlet distribution with
// parameters of 0.5: many jobs are limited by one thing.
double WeightCovariance(const std::vector<double>& x,
                        const std::vector<double>& y) {
  const double k = static_cast<double>(x.size());
  double product = 0;
  for (size_t i = 0; i < x.size(); ++i) product += x[i] * y[i] / k;
  return (product - Mean(x) * Mean(y)) / (k / 2 + 1);
}

// Variance of the mean of the references.
double ReferenceVariance(absl::Span<const LogSpeed> references) {
  double sum = 0;
  for (const LogSpeed& one : references) sum += one.error * one.error;
  return sum / static_cast<double>(references.size() * references.size());
}

}  // namespace

LogSpeed LogSpeedOf(absl::Span<const double> speeds, double single_error) {
  CHECK(!speeds.empty());
  std::vector<double> logs;
  for (const double speed : speeds) logs.push_back(std::log(speed));
  LogSpeed result{Mean(logs), single_error};
  if (logs.size() > 1) {
    const double n = static_cast<double>(logs.size());
    double squares = 0;
    for (const double log : logs) {
      squares += (log - result.log) * (log - result.log);
    }
    result.error = std::sqrt(squares / (n - 1) / n);
  }
  return result;
}

LogSpeed PredictSpeed(absl::Span<const KnownSpeed> known,
                      absl::Span<const LogSpeed> references,
                      double unexplained) {
  CHECK(!known.empty() && !references.empty());
  // Distances of each machine from the new one, in which the constant of the
  // job is its speed there.
  std::vector<std::vector<double>> distances;
  std::vector<double> moved;
  for (const KnownSpeed& machine : known) {
    CHECK_EQ(machine.references.size(), references.size());
    std::vector<double> distance;
    for (size_t k = 0; k < references.size(); ++k) {
      distance.push_back(machine.references[k].log - references[k].log);
    }
    moved.push_back(machine.job.log - Mean(distance));
    distances.push_back(std::move(distance));
  }
  const size_t n = known.size();
  std::vector<std::vector<double>> covariance(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      covariance[i][j] = WeightCovariance(distances[i], distances[j]);
    }
    covariance[i][i] += unexplained * unexplained +
                        known[i].job.error * known[i].job.error +
                        ReferenceVariance(known[i].references) + 1e-12;
  }
  // Generalized least squares for the constant.
  const std::vector<double> weights =
      Solve(covariance, std::vector<double>(n, 1.0));
  double sum = 0;
  double weighted = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += weights[i];
    weighted += weights[i] * moved[i];
  }
  return {weighted / sum, std::sqrt(1 / sum + unexplained * unexplained +
                                    ReferenceVariance(references))};
}

absl::optional<double> ScaleSuite(double level, std::vector<ScaledJob>* jobs) {
  if (jobs->empty()) return absl::nullopt;
  std::vector<double> shifts;
  for (ScaledJob& job : *jobs) {
    job.shift = job.measured.log - job.predicted.log;
    job.error = std::hypot(job.predicted.error, job.measured.error);
    shifts.push_back(job.shift);
  }
  const double n = static_cast<double>(jobs->size());
  const double chance = 1 - level / n;
  if (n < kScalableJobs) {
    const double factor = StudentTQuantile(chance, kAssumedDf);
    for (ScaledJob& job : *jobs) job.limit = factor * job.error;
    return absl::nullopt;
  }
  const double common = SelectQuantile(absl::MakeSpan(shifts), 0.5);
  std::vector<double> scores;
  for (const ScaledJob& job : *jobs) {
    scores.push_back(std::abs(job.shift - common) / job.error);
  }
  const double scale = 1.4826 * SelectQuantile(absl::MakeSpan(scores), 0.5) *
                       std::sqrt(n / (n - 1));
  double fastest = 0;
  for (ScaledJob& job : *jobs) {
    job.shift -= common;
    // The median is as uncertain as this.
    job.error = std::max(scale * job.error, job.measured.error) *
                std::sqrt(1 + 1.571 / n);
    fastest = std::max(fastest, job.shift / job.error);
  }
  const double df = std::min(kTailDf, kMadEfficiency * (n - 1));
  const double factor =
      std::max(kOddJobs * fastest, StudentTQuantile(chance, df));
  for (ScaledJob& job : *jobs) job.limit = factor * job.error;
  return common;
}

}  // namespace feedrate
