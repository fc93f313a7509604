#include "lib/stats/elsewhere.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace feedrate {
namespace {

constexpr int kLeastUnits = 3;
// With fewer jobs, what they have in common is not told from their own noise.
constexpr int kLeastJobs = 5;
// Student's t of more is the normal distribution.
constexpr double kManyDegrees = 1e6;

using Matrix = std::vector<std::vector<double>>;

// The derivative of the logarithm of the gamma function, and its derivative, by
// their recurrences and asymptotic series.
double Digamma(double x) {
  double sum = 0;
  for (; x < 8; ++x) sum -= 1 / x;
  const double y = 1 / (x * x);
  return sum + std::log(x) - 1 / (2 * x) -
         y * (1.0 / 12 - y * (1.0 / 120 - y / 252));
}

double Trigamma(double x) {
  double sum = 0;
  for (; x < 8; ++x) sum += 1 / (x * x);
  const double y = 1 / (x * x);
  return sum + 1 / x + y / 2 +
         y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30)));
}

// The x with Trigamma(x) = y, y > 0: it falls from infinity to 0.
double TrigammaInverse(double y) {
  double low = 1e-3;
  double high = kManyDegrees;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (Trigamma(middle) > y ? low : high) = middle;
  }
  return low;
}

// What the variances of many jobs say about the variance of one: as much as
// `degrees` more values with variance `variance` would.
struct Prior {
  double degrees = 0;
  double variance = 0;
};

// By the moments of their logarithms (Smyth 2004). `variances` have so many
// degrees of freedom each.
Prior PriorOf(const std::vector<double>& variances, double degrees) {
  std::vector<double> logs;
  for (const double variance : variances) {
    if (variance > 0) logs.push_back(std::log(variance));
  }
  if (static_cast<int>(logs.size()) < kLeastJobs) return {};
  const double shift = Digamma(degrees / 2) - std::log(degrees / 2);
  const double mean = MeanOf(logs) - shift;
  double squares = 0;
  for (const double log : logs) {
    squares += (log - shift - mean) * (log - shift - mean);
  }
  const double excess =
      squares / static_cast<double>(logs.size() - 1) - Trigamma(degrees / 2);
  if (excess <= Trigamma(kManyDegrees)) return {kManyDegrees, std::exp(mean)};
  const double half = TrigammaInverse(excess);
  return {2 * half, std::exp(mean + Digamma(half) - std::log(half))};
}

// The 97.5% quantile of Student's t. Most jobs have the same degrees.
class TQuantiles {
 public:
  double Of(double degrees) {
    const auto [known, is_new] = known_.emplace(degrees, 0);
    if (is_new) {
      known->second = StudentTQuantile(0.975, std::min(degrees, kManyDegrees));
    }
    return known->second;
  }

 private:
  std::map<double, double> known_;
};

double VarianceOf(const std::vector<double>& values) {
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

// The part of the values of a row that are numbers.
std::vector<double> Known(const std::vector<double>& values) {
  std::vector<double> known;
  for (const double value : values) {
    if (!std::isnan(value)) known.push_back(value);
  }
  return known;
}

// Executions by the unit they belong to. Empty if a unit is not known of all,
// or if there are too few.
std::map<std::string, std::vector<size_t>> UnitsOf(
    const std::vector<ExecutionOfJobs>& executions, Repeated what) {
  std::map<std::string, std::vector<size_t>> units;
  for (size_t i = 0; i < executions.size(); ++i) {
    const std::string unit = what == Repeated::kMachines ? executions[i].machine
                             : what == Repeated::kDays   ? executions[i].day
                                                         : std::to_string(i);
    if (unit.empty()) return {};
    units[unit].push_back(i);
  }
  if (static_cast<int>(units.size()) < kLeastUnits) units.clear();
  return units;
}

}  // namespace

const char* RepeatedName(Repeated what) {
  return what == Repeated::kMachines ? "machines"
         : what == Repeated::kDays   ? "days"
                                     : "executions";
}

absl::optional<Elsewhere> FindElsewhere(
    const std::vector<ExecutionOfJobs>& executions) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Elsewhere found;
  std::map<std::string, std::vector<size_t>> units;
  for (const Repeated what :
       {Repeated::kMachines, Repeated::kDays, Repeated::kExecutions}) {
    found.what = what;
    units = UnitsOf(executions, what);
    if (!units.empty()) break;
  }
  if (units.empty()) return absl::nullopt;
  found.units = static_cast<int>(units.size());
  const size_t jobs = executions[0].medians.size();
  // Of each job and unit the mean of its executions, and how much these differ.
  Matrix means(jobs);
  std::vector<double> within(jobs);
  std::vector<double> each(jobs, 1);
  for (size_t job = 0; job < jobs; ++job) {
    double squares = 0;
    double degrees = 0;
    int count = 0;
    int known_units = 0;
    for (const auto& [name, members] : units) {
      std::vector<double> logs;
      for (const size_t i : members) {
        const double median = executions[i].medians[job];
        if (median > 0) logs.push_back(std::log(median));
      }
      means[job].push_back(logs.empty() ? kNone : MeanOf(logs));
      if (logs.empty()) continue;
      ++known_units;
      count += static_cast<int>(logs.size());
      if (logs.size() < 2) continue;
      squares += VarianceOf(logs) * static_cast<double>(logs.size() - 1);
      degrees += static_cast<double>(logs.size() - 1);
    }
    if (degrees > 0) within[job] = squares / degrees;
    if (known_units > 0) each[job] = static_cast<double>(count) / known_units;
  }
  // What all jobs of a unit share: the mean of their differences from their own
  // centers. Of few jobs, nothing is told apart.
  std::vector<double> centers(jobs, kNone);
  Matrix rest = means;
  for (size_t job = 0; job < jobs; ++job) {
    const std::vector<double> known = Known(means[job]);
    if (static_cast<int>(known.size()) >= kLeastUnits) {
      centers[job] = MeanOf(known);
    }
  }
  const std::vector<double> with_center = Known(centers);
  double shared_variance = 0;
  double shared_degrees = kManyDegrees;
  if (static_cast<int>(with_center.size()) >= kLeastJobs) {
    std::vector<double> shifts;
    for (int unit = 0; unit < found.units; ++unit) {
      std::vector<double> shift;
      for (size_t job = 0; job < jobs; ++job) {
        const double difference = means[job][unit] - centers[job];
        if (!std::isnan(difference)) shift.push_back(difference);
      }
      if (shift.empty()) continue;
      std::sort(shift.begin(), shift.end());
      // A few jobs that are far off are not shared by all.
      shifts.push_back(shift[shift.size() / 2]);
      for (std::vector<double>& row : rest) row[unit] -= shifts.back();
    }
    if (static_cast<int>(shifts.size()) >= kLeastUnits) {
      shared_variance = VarianceOf(shifts);
      shared_degrees = static_cast<double>(shifts.size() - 1);
    }
  }
  std::vector<double> variances(jobs, kNone);
  for (size_t job = 0; job < jobs; ++job) {
    if (!std::isnan(centers[job]))
      variances[job] = VarianceOf(Known(rest[job]));
  }
  const double degrees = found.units - 1;
  const Prior prior = PriorOf(Known(variances), degrees);
  TQuantiles t;
  const double t_shared = t.Of(shared_degrees);
  for (size_t job = 0; job < jobs; ++job) {
    found.intervals.emplace_back();
    if (std::isnan(centers[job])) continue;
    const double n = static_cast<double>(Known(means[job]).size());
    const double own_degrees = n - 1;
    const double all_degrees = own_degrees + prior.degrees;
    // Of a mean of executions in place of one, a part is missing.
    const double own =
        (own_degrees * variances[job] + prior.degrees * prior.variance) /
            all_degrees +
        within[job] * (1 - 1 / each[job]);
    const double half =
        std::sqrt((1 + 1 / n) * (std::pow(t_shared, 2) * shared_variance +
                                 std::pow(t.Of(all_degrees), 2) * own));
    found.intervals.back() =
        Interval{std::exp(centers[job] - half), std::exp(centers[job] + half)};
  }
  return found;
}

}  // namespace feedrate
