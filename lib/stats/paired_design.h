// Statistics of a duel: the sequential design (when to look at the pairs, and
// what a look may conclude), the sign-flip test and the estimate behind it.
//
// The guarantee: if both sides of a job are the same program, the chance of
// calling it slower or faster is at most `level`, over all looks together and
// for any noise (see SignFlipPValue). Each look gets a share of the level and
// the shares add up to it, so the guarantee holds however the looks depend on
// each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/stats/summary.h"

namespace feedrate {

// Pairs before the first look. With fewer, the interval by ranks does not exist
// at this confidence.
inline constexpr int kFirstPairs = 8;
// Default largest number of pairs.
inline constexpr int kMaxPairs = 30;
// Default smallest change of interest, in percent.
inline constexpr double kInterestPercent = 2;
// Confidence of the interval that is printed and that a `same` needs. A real
// change of exactly the size of interest is then called `same` in one of 200
// looks. The looks before the last are stricter, because there are several.
inline constexpr double kConfidence = 0.99;
inline constexpr double kEarlyConfidence = 0.992;
// The chance of detection that FloorOf and LooksFor aim for.
inline constexpr double kPower = 0.95;

// The chance of a false alarm in a suite of any size.
inline constexpr double kSuiteLevel = 0.01;

// The level for each job in a suite of `jobs`: the smaller of 2e-5 and
// kSuiteLevel / jobs.
double LevelFor(int64_t jobs);

struct PairedDesign {
  // Number of pairs at each look, increasing.
  std::vector<int> looks;
  // Chance of a false alarm, in either direction and over all looks.
  double level = 0;
  double interest_percent = kInterestPercent;
};

// Looks after 8 pairs (fewer if those can prove a change), then after a quarter
// more each time, at the first number that can prove a change at this level,
// and after `max_pairs`: 8, 10, 12, 15, 19, 23, 30.
std::vector<int> DefaultLooks(int max_pairs, double level = LevelFor(1));

// Fewest pairs that can prove a change at `share`.
int LeastPairs(double share);

// The looks of a design with the fewest pairs, at most `max_pairs`, that
// detects a change of `interest_percent` with chance kPower when the
// differences between pairs have a standard deviation of `spread` (in
// logarithms).
std::vector<int> LooksFor(double spread, double level, double interest_percent,
                          int max_pairs);

// The share of the level that look number `look` may spend on each direction. 0
// for a look with so few pairs that even equal signs throughout would not be
// enough.
double ShareOfLook(const PairedDesign& design, int look);

enum class PairedVerdict { kSame, kFaster, kSlower, kCannotTell };

struct PairedLook {
  // kCannotTell before the last look means go on.
  PairedVerdict verdict = PairedVerdict::kCannotTell;
  // True when a change is proved but is less than half the change of interest.
  bool is_small_change = false;
  // Logarithm of B's time over A's.
  double estimate = 0;
  absl::optional<Interval> interval;
  // Two-sided. May be too large, but only where it is far above the level and
  // the caller did not ask for the exact value.
  double p_value = 1;
  // Standard deviation of the differences, robust against outliers.
  double spread = 0;
  // Smallest change (logarithm) that the design detects with chance kPower.
  double floor = 0;
};

// Judges `differences` (logarithm of B's time over A's, one per pair):
// - slower: the sign-flip test rejects "no change" at the look's share, and the
//   estimate is at least half the change of interest;
// - faster: the same in the other direction;
// - same: the interval lies within the change of interest on both sides;
// - otherwise cannot tell.
// `look` indexes design.looks. REQUIRES: `differences` is not empty.
PairedLook LookAt(absl::Span<const double> differences,
                  const PairedDesign& design, int look,
                  bool exact_p_value = false);

// Smallest change (logarithm) that `pairs` pairs detect with chance kPower at
// `share`, when differences have a standard deviation of `spread`. Infinite
// when so few pairs cannot reach the share at all.
double FloorOf(double spread, int pairs, double share);

// "same", "faster", "slower", "cannot_tell".
std::string PairedVerdictName(PairedVerdict verdict);

// The sign-flip test: an exact test of paired differences that assumes nothing
// about the noise.

// The test enumerates all sign patterns up to this many values.
inline constexpr int kMaxExactFlips = 36;

// The share of the 2^n sign patterns whose sum is at least that of `values`.
//
// When both sides are the same program and a coin decides which side of a pair
// runs first, each difference has either sign with equal chance, whatever the
// machine does: drift, other processes, heavy tails, runs that depend on
// earlier runs. So this is an exact p-value of "nothing changed" against "the
// sum is larger". It follows from the design of the experiment, not from a
// model of its noise. It is never below 2^-n.
//
// Above kMaxExactFlips values the result is an upper bound of that share: 3.18
// times the normal tail (Bentkus and Dzindzalieta 2015; it holds for all
// weights).
//
// When the result is certain to be above `enough`, any other value above
// `enough` may be returned instead, in less time.
double SignFlipPValue(absl::Span<const double> values, double enough = 1);

// The smallest p-value that `n` pairs can give.
double SmallestSignFlipPValue(int n);

// Returns `values` with each limited to 1.25 times the median of the absolute
// values that are not 0. The result is an odd function of each value and the
// limit does not depend on signs, so the sign-flip test stays exact; but one
// outlier can no longer hide what all other pairs show.
std::vector<double> LimitedScores(absl::Span<const double> values);

// The location of paired differences: the Hodges-Lehmann estimate and its
// interval.

struct Location {
  // The median of the means of all pairs of values (each value with itself
  // included). Outliers do not move it. For normal noise it is 5% less
  // efficient than the mean.
  double estimate = 0;
  // Contains the center of a symmetric distribution in at least `confidence` of
  // all experiments, by the ranks of Wilcoxon's test. Student's interval where
  // there are too few values for that (below 8 at 99%). Absent for one value,
  // and if it would be wider than a factor of 100, as it is for two values.
  absl::optional<Interval> interval;
};

// REQUIRES: `values` is not empty, 0.5 < confidence < 1.
Location LocationOf(absl::Span<const double> values, double confidence);

// For `n` values, the number of sorted means below the interval's lower end,
// which is also the number above its upper end. -1 when there are too few
// values.
int64_t MeansOutside(int n, double confidence);

}  // namespace feedrate
