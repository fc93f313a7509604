#include "lib/gate/run_time.h"

#include <algorithm>
#include <cmath>

#include "lib/stats/quantiles.h"
#include "lib/stats/trimmed_mean.h"

namespace feedrate {

absl::optional<RunStatistic> ParseRunStatistic(const std::string& name) {
  if (name == "typical") return RunStatistic::kTypical;
  if (name == "total") return RunStatistic::kTotal;
  if (name == "p90") return RunStatistic::kP90;
  return absl::nullopt;
}

const std::vector<std::string>& RunStatisticNames() {
  static const auto* names =
      new std::vector<std::string>{"typical", "total", "p90"};
  return *names;
}

absl::optional<double> RunLog(const Row& row, RunStatistic statistic) {
  if (row.status() != "ok") return absl::nullopt;
  std::vector<double> samples(row.samples_s().begin(), row.samples_s().end());
  const bool are_times =
      !samples.empty() &&
      std::all_of(samples.begin(), samples.end(),
                  [](double s) { return std::isfinite(s) && s > 0; });
  if (statistic != RunStatistic::kTotal && are_times) {
    return statistic == RunStatistic::kP90 ? std::log(Quantile(samples, 0.9))
                                           : TypicalLog(samples);
  }
  if (row.elapsed_s() > 0 && row.items() > 0) {
    return std::log(row.elapsed_s() / static_cast<double>(row.items()));
  }
  if (row.throughput() > 0) return -std::log(row.throughput());
  return absl::nullopt;
}

}  // namespace feedrate
