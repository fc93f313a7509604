#include "lib/stats/trimmed_mean.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "glog/logging.h"

namespace feedrate {

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

}  // namespace feedrate
