#include "lib/gate/shift.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr double kUsualDf = 4;
constexpr size_t kFewestJobs = 10;
constexpr size_t kFewestSamples = 3;
constexpr double kSingleDf = 3;
// Makes a median distance the standard deviation of normal noise.
constexpr double kNormal = 1.4826;
// Executions of a side from which on outliers among them can be told.
constexpr size_t kManyExecutions = 5;
constexpr double kTrimmed = 0.2;

double SquaresOf(absl::Span<const double> values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

std::vector<double> Logs(absl::Span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

bool AllAboveZero(absl::Span<const double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return value > 0; });
}

// Suites have many jobs and few degrees of freedom, and the search for a
// quantile is slow.
double CachedT(double level, double df) {
  thread_local absl::flat_hash_map<std::pair<double, double>, double> known;
  if (known.size() > 10000) known.clear();
  const auto added = known.try_emplace({level, df}, 0);
  if (added.second) added.first->second = StudentTQuantile(1 - level, df);
  return added.first->second;
}

constexpr double kWrongOrder = 0.02;
// In standard deviations of the rank test: one of 2,000 jobs without a change
// gets there by chance.
constexpr double kUnlikelyOrder = 3.3;

// Pairs of sorted values, one of each list, in which that of `above` is at most
// the other.
size_t PairsNotAbove(const std::vector<double>& above,
                     const std::vector<double>& below) {
  size_t pairs = 0;
  size_t smaller = 0;
  for (const double value : below) {
    while (smaller < above.size() && above[smaller] <= value) ++smaller;
    pairs += smaller;
  }
  return pairs;
}

Shift::Order OrderOf(std::vector<double> before, std::vector<double> now,
                     double shift) {
  std::sort(before.begin(), before.end());
  std::sort(now.begin(), now.end());
  const size_t wrong =
      shift > 0 ? PairsNotAbove(now, before) : PairsNotAbove(before, now);
  const double pairs = static_cast<double>(before.size() * now.size());
  const double deviation =
      std::sqrt((before.size() + now.size() + 1) / (12 * pairs));
  const double share = wrong / pairs;
  if (share <= kWrongOrder) return Shift::Order::kApart;
  return share <= 0.5 - kUnlikelyOrder * deviation ? Shift::Order::kUnlikely
                                                   : Shift::Order::kMixed;
}

// The runs of a side by execution.
struct SideLevels {
  std::vector<double> means;
  // Within the executions.
  double squares = 0;
  double df = 0;
  // Runs per execution, as far as they determine the error of a mean.
  double runs = 1;
};

SideLevels LevelsOf(const std::vector<double>& logs,
                    absl::Span<const std::string> executions) {
  std::map<std::string, std::vector<double>> groups;
  for (size_t i = 0; i < logs.size(); ++i) {
    groups[executions[i]].push_back(logs[i]);
  }
  SideLevels side;
  double inverse = 0;
  for (const auto& [id, runs] : groups) {
    side.means.push_back(MeanOf(runs));
    side.squares += SquaresOf(runs);
    side.df += static_cast<double>(runs.size() - 1);
    inverse += 1.0 / static_cast<double>(runs.size());
  }
  side.runs = static_cast<double>(groups.size()) / inverse;
  return side;
}

// A mean, its squared error and the degrees of freedom of that.
struct Level {
  double mean = 0;
  double square = 0;
  double df = 0;
};

// Yuen's: without the fifth of the values at either end, which may be outliers.
Level TrimmedLevel(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const size_t cut = static_cast<size_t>(kTrimmed * static_cast<double>(n));
  Level level;
  level.mean = MeanOf(absl::MakeConstSpan(values).subspan(cut, n - 2 * cut));
  for (size_t i = 0; i < cut; ++i) {
    values[i] = values[cut];
    values[n - 1 - i] = values[n - 1 - cut];
  }
  const double kept = static_cast<double>(n - 2 * cut);
  level.df = kept - 1;
  level.square = SquaresOf(values) / (kept * (kept - 1));
  return level;
}

// The difference of many executions on both sides.
void CompareMany(const SideLevels& before, const SideLevels& now,
                 double least_square, Shift* shift) {
  const Level a = TrimmedLevel(before.means);
  const Level b = TrimmedLevel(now.means);
  shift->log = b.mean - a.mean;
  const double square = a.square + b.square;
  shift->error = std::sqrt(std::max(square, least_square * shift->run_share));
  const double parts = a.square * a.square / a.df + b.square * b.square / b.df;
  // Rounded down, so that few numbers occur.
  shift->df =
      parts > 0 ? std::floor(square * square / parts) : std::min(a.df, b.df);
}

// Executions are known, and there are two on one side at least.
Shift ShiftOfExecutions(const SideLevels& before, const SideLevels& now) {
  Shift shift;
  const double e = static_cast<double>(before.means.size());
  const double c = static_cast<double>(now.means.size());
  shift.run_share = 1 / e + 1 / c;
  shift.single_runs = e == 1 || c == 1;
  // Means cannot scatter less than their runs make them.
  const double within_df = before.df + now.df;
  const double within =
      within_df > 0 ? (before.squares + now.squares) / within_df : 0;
  const double least_square = within / std::min(before.runs, now.runs);
  if (std::min(before.means.size(), now.means.size()) >= kManyExecutions) {
    CompareMany(before, now, least_square, &shift);
    return shift;
  }
  shift.log = MeanOf(now.means) - MeanOf(before.means);
  shift.df = e + c - 2;
  const double square =
      (SquaresOf(before.means) + SquaresOf(now.means)) / shift.df;
  shift.error = std::sqrt(std::max(square, least_square) * shift.run_share);
  if (shift.single_runs) shift.df = std::min(shift.df, kSingleDf);
  return shift;
}

bool AreKnown(absl::Span<const std::string> executions, size_t runs) {
  return executions.size() == runs &&
         std::none_of(executions.begin(), executions.end(),
                      [](const std::string& id) { return id.empty(); });
}

}  // namespace

bool Shift::HasManyExecutions() const {
  return static_cast<size_t>(std::min(baseline_executions, executions)) >=
         kManyExecutions;
}

double Shift::Limit(double level) const {
  return df <= 0 ? unseen : std::max(unseen, CachedT(level, df) * error);
}

Shift Shift::AcrossExecutions() const {
  Shift across = *this;
  if (run_share == 0) return across;
  across.error *= std::sqrt(1 + 1 / run_share);
  return across;
}

absl::optional<Shift> ShiftOfRuns(
    absl::Span<const double> baseline, absl::Span<const double> current,
    absl::Span<const std::string> baseline_executions,
    absl::Span<const std::string> executions) {
  if (baseline.empty() || current.empty() || !AllAboveZero(baseline) ||
      !AllAboveZero(current)) {
    return absl::nullopt;
  }
  const std::vector<double> before = Logs(baseline);
  const std::vector<double> now = Logs(current);
  Shift shift;
  const bool are_known = AreKnown(baseline_executions, before.size()) &&
                         AreKnown(executions, now.size());
  SideLevels levels_before;
  SideLevels levels_now;
  if (are_known) {
    levels_before = LevelsOf(before, baseline_executions);
    levels_now = LevelsOf(now, executions);
  }
  if (levels_before.means.size() + levels_now.means.size() > 2) {
    shift = ShiftOfExecutions(levels_before, levels_now);
  } else {
    shift.log = MeanOf(now) - MeanOf(before);
    shift.df = static_cast<double>(before.size() + now.size() - 2);
    shift.single_runs = before.size() == 1 || now.size() == 1;
    if (shift.df > 0) {
      const double variance = (SquaresOf(before) + SquaresOf(now)) / shift.df;
      shift.run_share = 1.0 / before.size() + 1.0 / now.size();
      shift.error = std::sqrt(variance * shift.run_share);
    }
  }
  shift.baseline_executions = static_cast<int>(levels_before.means.size());
  shift.executions = static_cast<int>(levels_now.means.size());
  if (are_known &&
      shift.baseline_executions + shift.executions < kEnoughExecutions) {
    shift.unseen = kUnseenExecutions;
  }
  if (before.size() + now.size() > 2) {
    shift.order = OrderOf(before, now, shift.log);
  }
  return shift;
}

absl::optional<Shift> ShiftOfSamples(const Row& baseline, const Row& current) {
  const std::vector<double> before(baseline.samples_s().begin(),
                                   baseline.samples_s().end());
  const std::vector<double> now(current.samples_s().begin(),
                                current.samples_s().end());
  if (before.size() < kFewestSamples || now.size() < kFewestSamples) {
    return absl::nullopt;
  }
  // The times swap sides, because less time is more throughput.
  if (before.size() != now.size()) {
    absl::optional<Shift> shift = ShiftOfRuns(now, before);
    if (shift) shift->single_runs = true;
    return shift;
  }
  if (!AllAboveZero(now) || !AllAboveZero(before)) return absl::nullopt;
  std::vector<double> ratios;
  for (size_t i = 0; i < now.size(); ++i) ratios.push_back(before[i] / now[i]);
  const std::vector<double> logs = Logs(ratios);
  Shift shift;
  shift.single_runs = true;
  if (logs.size() >= kManyExecutions) {
    const Level level = TrimmedLevel(logs);
    shift.log = level.mean;
    shift.df = level.df;
    shift.error = std::sqrt(level.square);
    return shift;
  }
  shift.log = MeanOf(logs);
  shift.df = static_cast<double>(logs.size() - 1);
  shift.error = std::sqrt(SquaresOf(logs) / shift.df / logs.size());
  return shift;
}

namespace {

// The row's summary or, without one, that of its samples. Absent if there are
// too few of them, or they do not scatter.
absl::optional<SampleSummary> SummaryOf(const Row& row) {
  SampleSummary summary = row.summary();
  const std::vector<double> samples(row.samples_s().begin(),
                                    row.samples_s().end());
  if (samples.size() >= kFewestSamples) {
    summary.set_count(static_cast<int64_t>(samples.size()));
    summary.set_mean_s(MeanOf(samples));
    summary.set_stddev_s(std::sqrt(SquaresOf(samples) / (samples.size() - 1)));
  }
  if (summary.mean_s() <= 0) summary.set_mean_s(summary.median_s());
  if (summary.count() < static_cast<int64_t>(kFewestSamples) ||
      !(summary.mean_s() > 0) || !(summary.stddev_s() > 0)) {
    return absl::nullopt;
  }
  return summary;
}

}  // namespace

absl::optional<Shift> ShiftOfSummaries(const Row& baseline,
                                       const Row& current) {
  const absl::optional<SampleSummary> before = SummaryOf(baseline);
  const absl::optional<SampleSummary> now = SummaryOf(current);
  if (!before || !now || !(baseline.throughput() > 0) ||
      !(current.throughput() > 0)) {
    return absl::nullopt;
  }
  Shift shift;
  shift.single_runs = true;
  shift.log = std::log(current.throughput() / baseline.throughput());
  double squares = 0;
  double parts = 0;
  for (const SampleSummary* side : {&*before, &*now}) {
    const double n = static_cast<double>(side->count());
    const double relative = side->stddev_s() / side->mean_s();
    const double square = relative * relative / n;
    squares += square;
    parts += square * square / (n - 1);
  }
  // Welch's test: both sides have a variance of their own.
  shift.error = std::sqrt(squares);
  shift.df = squares * squares / parts;
  return shift;
}

int ExecutionsFor(const Shift& shift, double percent, double level) {
  constexpr int kMost = 1000;
  if (shift.baseline_executions + shift.executions <= 2 ||
      shift.run_share == 0) {
    return 0;
  }
  const double deviation = shift.error / std::sqrt(shift.run_share);
  for (int n = kEnoughExecutions / 2; n <= kMost; ++n) {
    // A fifth at either end is left out from five on.
    const double kept = n < static_cast<int>(kManyExecutions)
                            ? n
                            : n - 2 * std::floor(kTrimmed * n);
    const double df = 2 * (kept - 1);
    const double error = deviation * std::sqrt(2.0 / n);
    const double found = (CachedT(level, df) + CachedT(0.05, df)) * error;
    if (found <= std::log1p(percent / 100)) return n;
  }
  return 0;
}

void SuiteNoise::Add(const std::string& metric, const Shift& shift) {
  Noise& noise = noise_[metric];
  noise.shifts.push_back(shift);
  noise.is_summed = false;
}

const SuiteNoise::Noise* SuiteNoise::Sum(const std::string& metric) const {
  const auto found = noise_.find(metric);
  if (found == noise_.end()) return nullptr;
  Noise& noise = found->second;
  if (noise.is_summed) return &noise;
  std::vector<double> logs;
  std::vector<double> squares;
  for (const Shift& shift : noise.shifts) {
    logs.push_back(shift.log);
    if (shift.df > 0) squares.push_back(shift.error * shift.error);
  }
  noise.usual_square =
      squares.empty() ? 0 : SelectQuantile(absl::MakeSpan(squares), 0.5);
  const double middle = SelectQuantile(absl::MakeSpan(logs), 0.5);
  for (double& log : logs) log = std::abs(log - middle);
  noise.scatter = kNormal * SelectQuantile(absl::MakeSpan(logs), 0.5);
  noise.is_summed = true;
  return &noise;
}

Shift SuiteNoise::Moderate(const std::string& metric,
                           const Shift& shift) const {
  const Noise* const noise = Sum(metric);
  if (noise == nullptr) return shift;
  Shift moderated = shift;
  const double own = shift.error * shift.error;
  if (shift.baseline_executions + shift.executions > 2) {
    // The degrees of freedom stay those of one job: all jobs of an execution
    // may have shifted alike, so that many say no more about it than one.
    moderated.error = std::sqrt(std::max(own, noise->usual_square));
  } else if (noise->shifts.size() >= kFewestJobs && noise->usual_square > own) {
    moderated.df = shift.df + kUsualDf;
    moderated.error = std::sqrt(
        (shift.df * own + kUsualDf * noise->usual_square) / moderated.df);
  }
  if (noise->shifts.size() < kFewestJobs) return moderated;
  if (noise->scatter > moderated.error) {
    moderated.error = noise->scatter;
    // A median distance knows the scatter about as well as a third of the
    // values would.
    moderated.df = std::floor(noise->shifts.size() / 3.0);
  }
  // Outliers of single runs are heavy-tailed.
  if (shift.single_runs) moderated.df = std::min(moderated.df, kSingleDf);
  return moderated;
}

}  // namespace feedrate
