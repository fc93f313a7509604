#include "lib/stats/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "lib/stats/student_t.h"

namespace feedrate {
namespace {

// Above this the ranks' sum is normal to many digits and counting costs n^3.
constexpr int kMaxCounted = 100;

// Largest w with P(W <= w) <= tail, W the sum of positive ranks; -1: none.
int64_t CountedQuantile(int n, double tail) {
  const int total = n * (n + 1) / 2;
  std::vector<double> chance(total + 1, 0.0);
  chance[0] = 1;
  int reached = 0;
  for (int rank = 1; rank <= n; ++rank) {
    reached += rank;
    for (int sum = reached; sum >= 0; --sum) {
      chance[sum] =
          0.5 * (chance[sum] + (sum >= rank ? chance[sum - rank] : 0.0));
    }
  }
  double below = 0;
  int64_t w = -1;
  while (below + chance[w + 1] <= tail) below += chance[++w];
  return w;
}

int64_t NormalQuantileOfRanks(int n, double tail) {
  // Student's t with many degrees of freedom is the normal distribution.
  const double z = StudentTQuantile(tail, 1e9);
  const double m = n;
  const double sd = std::sqrt(m * (m + 1) * (2 * m + 1) / 24);
  return static_cast<int64_t>(m * (m + 1) / 4 + z * sd);
}

Interval StudentInterval(absl::Span<const double> values, double confidence) {
  const double n = values.size();
  double mean = 0;
  for (const double value : values) mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double half = StudentTQuantile(0.5 + confidence / 2, n - 1) *
                      std::sqrt(squares / (n - 1) / n);
  return {mean - half, mean + half};
}

}  // namespace

int64_t MeansOutside(int n, double confidence) {
  static std::mutex mutex;
  static auto* known = new std::map<std::pair<int, double>, int64_t>();
  thread_local std::pair<int, double> last_key{-1, 0};
  thread_local int64_t last_value = 0;
  const std::pair<int, double> key{n, confidence};
  if (key == last_key) return last_value;
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = known->find(key);
  if (found == known->end()) {
    const double tail = (1 - confidence) / 2;
    const int64_t w = n <= kMaxCounted ? CountedQuantile(n, tail)
                                       : NormalQuantileOfRanks(n, tail);
    found = known->emplace(key, w).first;
  }
  last_key = key;
  last_value = found->second;
  return last_value;
}

Location LocationOf(absl::Span<const double> values, double confidence) {
  const size_t n = values.size();
  CHECK_GT(n, 0);
  std::vector<double> means;
  means.reserve(n * (n + 1) / 2);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) means.push_back((values[i] + values[j]) / 2);
  }
  const size_t count = means.size();
  const auto nth = [&means](size_t k) {
    std::nth_element(means.begin(), means.begin() + k, means.end());
    return means[k];
  };
  Location location;
  location.estimate = count % 2 == 1
                          ? nth(count / 2)
                          : (nth(count / 2) + nth(count / 2 - 1)) / 2;
  const int64_t outside = MeansOutside(static_cast<int>(n), confidence);
  if (outside >= 0) {
    location.interval = Interval{nth(outside), nth(count - 1 - outside)};
  } else if (n > 1) {
    location.interval = StudentInterval(values, confidence);
    location.interval->low =
        std::min(location.interval->low, location.estimate);
    location.interval->high =
        std::max(location.interval->high, location.estimate);
  }
  return location;
}

}  // namespace feedrate
