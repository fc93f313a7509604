#include "lib/stats/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "lib/stats/exact_sum.h"
#include "lib/stats/median_interval.h"
#include "lib/stats/student_t.h"

namespace feedrate {
namespace {

double SumOf(absl::Span<const double> values, double shift, bool squared) {
  // 32 KB, cleared where it was used: too large to make for every group.
  thread_local ExactSum sum;
  sum.Clear();
  for (const double value : values) {
    const double term = value - shift;
    sum.Add(squared ? term * term : term);
  }
  return sum.Total();
}

std::vector<double> SortedLogs(absl::Span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    CHECK_GT(value, 0);
    logs.push_back(std::log(value));
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

double MeanOf(absl::Span<const double> values) {
  return SumOf(values, 0, false) / static_cast<double>(values.size());
}

double DeviationOf(absl::Span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  return std::sqrt(SumOf(values, mean, true) /
                   static_cast<double>(values.size() - 1));
}

}  // namespace

Summary Summarize(absl::Span<double> values) {
  CHECK(!values.empty());
  Summary summary;
  summary.n = static_cast<int64_t>(values.size());
  const auto ends = std::minmax_element(values.begin(), values.end());
  summary.min = *ends.first;
  summary.max = *ends.second;
  summary.mean = MeanOf(values);
  summary.sd = DeviationOf(values, summary.mean);
  summary.cv = summary.mean == 0 ? 0 : summary.sd / summary.mean;
  const MedianEstimate estimate = EstimateMedian(values);
  summary.median = estimate.median;
  summary.interval = estimate.interval;
  return summary;
}

double GeometricMean(absl::Span<const double> values) {
  CHECK(!values.empty());
  return std::exp(MeanOf(SortedLogs(values)));
}

absl::optional<Interval> GeometricMeanInterval(
    absl::Span<const double> values) {
  if (values.size() < static_cast<size_t>(kMinRunsForInterval)) {
    return absl::nullopt;
  }
  const std::vector<double> logs = SortedLogs(values);
  const double n = static_cast<double>(logs.size());
  const double mean = MeanOf(logs);
  const double half =
      StudentTQuantile(0.975, n - 1) * DeviationOf(logs, mean) / std::sqrt(n);
  return Interval{std::exp(mean - half), std::exp(mean + half)};
}

double LogDeviation(absl::Span<const double> values) {
  const std::vector<double> logs = SortedLogs(values);
  return logs.empty() ? 0 : DeviationOf(logs, MeanOf(logs));
}

}  // namespace feedrate
