#include "lib/stats/paired_design.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/sign_flip.h"
#include "lib/stats/signed_rank.h"
#include "lib/stats/student_t.h"

namespace feedrate {
namespace {

// Of the level, what all looks but the last may spend. They stop a plain
// regression early; most is kept for the last, which has the most pairs.
constexpr double kEarlyShare = 0.2;

// Median distance from the estimate, scaled to the deviation of normal data.
double RobustSpread(absl::Span<const double> differences, double centre) {
  if (differences.size() < 2) return 0;
  std::vector<double> distances;
  for (const double d : differences) distances.push_back(std::abs(d - centre));
  const double n = differences.size();
  // The estimate is fitted to the values, hence n - 1.
  return 1.4826 * SelectQuantile(absl::MakeSpan(distances), 0.5) *
         std::sqrt(n / (n - 1));
}

// FloorOf for a spread of 1.
double FloorFactor(int pairs, double share) {
  if (share <= 0 || pairs < 2 || SmallestSignFlipPValue(pairs) > share) {
    return std::numeric_limits<double>::infinity();
  }
  // Power of a t test, by the usual approximation of the non-central t. With
  // that many degrees of freedom the second quantile is the normal one.
  const double df = pairs - 1;
  const double critical = StudentTQuantile(1 - share, df);
  return (critical + StudentTQuantile(kPower, 1e9) *
                         std::sqrt(1 + critical * critical / (2 * df))) /
         std::sqrt(static_cast<double>(pairs));
}

}  // namespace

double LevelFor(int64_t jobs) {
  return std::min(2e-5, 0.01 / static_cast<double>(std::max<int64_t>(1, jobs)));
}

std::vector<int> DefaultLooks(int max_pairs) {
  if (max_pairs <= kFirstPairs) return {max_pairs};
  if (max_pairs < kFirstPairs + 4) return {kFirstPairs, max_pairs};
  return {kFirstPairs, (kFirstPairs + max_pairs) / 2, max_pairs};
}

std::vector<int> LooksFor(double spread, double level, double interest_percent,
                          int max_pairs) {
  const double interest = std::log1p(interest_percent / 100);
  for (int pairs = kFirstPairs; pairs < max_pairs; ++pairs) {
    const PairedDesign design{DefaultLooks(pairs), level, interest_percent};
    const int last = static_cast<int>(design.looks.size()) - 1;
    if (FloorOf(spread, pairs, ShareOfLook(design, last)) <= interest) {
      return design.looks;
    }
  }
  return DefaultLooks(max_pairs);
}

double ShareOfLook(const PairedDesign& design, int look) {
  const int last = static_cast<int>(design.looks.size()) - 1;
  CHECK(look >= 0 && look <= last);
  // Looks before the last that could reach an equal part of the early share.
  int able = 0;
  const double early = kEarlyShare * design.level / 2;
  for (int i = 0; i < last; ++i) {
    if (SmallestSignFlipPValue(design.looks[i]) <= early / last) ++able;
  }
  const double spent = able == 0 ? 0 : early;
  if (look == last) return design.level / 2 - spent;
  if (SmallestSignFlipPValue(design.looks[look]) > early / last) return 0;
  return early / able;
}

double FloorOf(double spread, int pairs, double share) {
  // Quantiles of t cost more than the rest of a look; few are ever asked for.
  thread_local std::map<std::pair<int, double>, double> known;
  const auto added = known.emplace(std::make_pair(pairs, share), 0);
  if (added.second) added.first->second = FloorFactor(pairs, share);
  return std::isinf(added.first->second) ? added.first->second
                                         : spread * added.first->second;
}

PairedLook LookAt(absl::Span<const double> differences,
                  const PairedDesign& design, int look, bool exact_p_value) {
  const double share = ShareOfLook(design, look);
  const double interest = std::log1p(design.interest_percent / 100);
  PairedLook result;
  const Location location = LocationOf(differences, kConfidence);
  result.estimate = location.estimate;
  result.interval = location.interval;
  result.spread = RobustSpread(differences, location.estimate);
  const int last = static_cast<int>(design.looks.size()) - 1;
  const int pairs = std::max<int>(design.looks[last], differences.size());
  result.floor = FloorOf(result.spread, pairs, ShareOfLook(design, last));

  std::vector<double> scores = LimitedScores(differences);
  if (result.estimate < 0) {
    for (double& score : scores) score = -score;
  }
  const double p = SignFlipPValue(scores, exact_p_value ? 1 : share);
  result.p_value = std::min(1.0, 2 * p);
  const bool is_proved = p <= share;
  result.is_small_change =
      is_proved && std::abs(result.estimate) < interest / 2;
  if (is_proved && !result.is_small_change) {
    result.verdict =
        result.estimate > 0 ? PairedVerdict::kSlower : PairedVerdict::kFaster;
  } else if (result.interval && result.interval->low > -interest &&
             result.interval->high < interest) {
    result.verdict = PairedVerdict::kSame;
  }
  return result;
}

std::string PairedVerdictName(PairedVerdict verdict) {
  switch (verdict) {
    case PairedVerdict::kSame:
      return "same";
    case PairedVerdict::kFaster:
      return "faster";
    case PairedVerdict::kSlower:
      return "slower";
    case PairedVerdict::kCannotTell:
      break;
  }
  return "cannot_tell";
}

}  // namespace feedrate
