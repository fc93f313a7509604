#include "lib/stats/winner.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

// For normal data, the standard error of the median is sqrt(pi / 2) that of the
// mean.
constexpr double kMedianOverMean = 1.2533;

// Each is compared with each. No table has so many that a person could read.
constexpr size_t kMostContestants = 1000;

// The interval of the median. Of two runs, Student's interval of logarithms.
absl::optional<Interval> IntervalOf(const Summary& summary) {
  if (summary.interval.has_value() || summary.n != kMinRunsForWinner ||
      !(summary.min > 0)) {
    return summary.interval;
  }
  const double center = std::sqrt(summary.min) * std::sqrt(summary.max);
  const double factor =
      std::exp(TOfRuns(summary.n) * std::log(summary.max / summary.min) / 2);
  return Interval{std::min(center / factor, summary.median),
                  std::max(center * factor, summary.median)};
}

// Half the average width of an interval of `n` runs, in logarithms.
double HalfWidth(const Summary& summary, int64_t n) {
  // Fewer runs than an interval needs do not show the spread.
  const double cv = summary.n < kMinRunsForInterval
                        ? std::max(summary.cv, kUnstableCv)
                        : summary.cv;
  return TOfRuns(n) * std::sqrt(std::log1p(cv * cv) / static_cast<double>(n)) *
         (n < kManyRuns ? 1 : kMedianOverMean);
}

int64_t RunsNeeded(const Summary& a, const Summary& b) {
  const int64_t now = std::min(a.n, b.n);
  const double distance = std::abs(std::log(a.median / b.median));
  for (const int64_t n : kRunLadder) {
    if (n <= now) continue;
    // Before three runs the spread is not known.
    if (now < kMinRunsForInterval ||
        std::hypot(HalfWidth(a, std::max(n, a.n)),
                   HalfWidth(b, std::max(n, b.n))) < distance) {
      return n;
    }
  }
  return 0;
}

bool IsDisturbed(const Contestant& one) {
  return static_cast<double>(one.disturbed) >
         kDisturbedShare * static_cast<double>(one.summary.n);
}

// Whether its own runs are evidence, whatever the rival's are.
bool HasEvidence(const Contestant& one) {
  return one.summary.n >= kMinRunsForWinner && !IsDisturbed(one);
}

bool CanCompete(const Contestant& one) {
  return one.summary.n > 0 && one.summary.median > 0;
}

}  // namespace

Work WorkOfLabel(absl::string_view label) {
  if (label == "exact" || label == "equivalent") return Work::kSame;
  return label.empty() ? Work::kNotCompared : Work::kOther;
}

Separation Separate(const Contestant& a, const Contestant& b) {
  Separation result;
  const absl::optional<Interval> of_a = IntervalOf(a.summary);
  const absl::optional<Interval> of_b = IntervalOf(b.summary);
  if (of_a.has_value() && of_b.has_value()) {
    result.ratio =
        RatioInterval(a.summary.median, *of_a, b.summary.median, *of_b);
  }
  if (a.work != b.work || a.work == Work::kOther) {
    result.evidence = Evidence::kOtherWork;
  } else if (IsDisturbed(a) || IsDisturbed(b)) {
    result.evidence = Evidence::kDisturbed;
  } else if (!result.ratio.has_value()) {
    result.evidence = Evidence::kFewRuns;
    result.runs_needed = RunsNeeded(a.summary, b.summary);
  } else if (result.ratio->low > 1 || result.ratio->high < 1) {
    result.evidence = Evidence::kSeparate;
  } else {
    result.runs_needed = RunsNeeded(a.summary, b.summary);
  }
  return result;
}

std::vector<Standing> Standings(absl::Span<const Contestant> contestants) {
  std::vector<Standing> standings(contestants.size());
  if (contestants.size() > kMostContestants) return standings;
  for (size_t i = 0; i < contestants.size(); ++i) {
    if (!CanCompete(contestants[i])) continue;
    Standing& standing = standings[i];
    const double median = contestants[i].summary.median;
    int faster = 0;
    bool may_be_slower = false;
    double nearest = 0;
    for (size_t j = 0; j < contestants.size(); ++j) {
      if (j == i || !CanCompete(contestants[j])) continue;
      const Separation found = Separate(contestants[i], contestants[j]);
      if (found.evidence == Evidence::kOtherWork) continue;
      ++standing.rivals;
      if (found.evidence == Evidence::kSeparate) {
        faster += contestants[j].summary.median > median;
        continue;
      }
      standing.tied = true;
      // Its rank is unknown if one that looks faster cannot be judged.
      may_be_slower = may_be_slower || (!HasEvidence(contestants[j]) &&
                                        contestants[j].summary.median > median);
      const double distance =
          std::abs(std::log(contestants[j].summary.median / median));
      if (standing.rival >= 0 && distance >= nearest) continue;
      nearest = distance;
      standing.rival = static_cast<int>(j);
      standing.evidence = found.evidence;
      standing.runs_needed = found.runs_needed;
    }
    if (standing.rivals == 0) continue;
    if (HasEvidence(contestants[i]) && !may_be_slower) {
      standing.rank = 1 + faster;
    }
    standing.wins = !standing.tied && faster == 0;
  }
  return standings;
}

std::string EvidenceText(Evidence evidence, int64_t runs_needed) {
  switch (evidence) {
    case Evidence::kSeparate:
      return "";
    case Evidence::kFewRuns:
      return absl::StrCat("tied; ", runs_needed, " runs would show the spread");
    case Evidence::kTied:
      return runs_needed == 0 ? absl::StrCat("tied; ", *std::rbegin(kRunLadder),
                                             " runs would not separate them")
                              : absl::StrCat("tied; ", runs_needed,
                                             " runs should separate them");
    case Evidence::kDisturbed:
      return "disturbed runs are no evidence";
    case Evidence::kOtherWork:
      return "not the same work";
  }
  return "";
}

}  // namespace feedrate
