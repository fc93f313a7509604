// The sequential design of a duel: when to look, and what a look may say.
//
// The promise: a job whose two sides are the same program is called slower or
// faster with a chance of at most `level`, over all looks together and whatever
// the noise (see sign_flip.h). Each look has a share of the level; shares add
// up to it, so nothing has to be known about how looks depend on each other.
#ifndef FEEDRATE_LIB_STATS_PAIRED_DESIGN_H_
#define FEEDRATE_LIB_STATS_PAIRED_DESIGN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/stats/median_interval.h"

namespace feedrate {

// Pairs before the first look.
inline constexpr int kFirstPairs = 10;
// The default most.
inline constexpr int kMaxPairs = 30;
// Smallest change of interest in percent.
inline constexpr double kInterestPercent = 2;
// Of the interval that a `same` needs and that is printed. A real change of
// just the size of interest is then called `same` once in 200 looks.
inline constexpr double kConfidence = 0.99;
// What `floor` and PairsNeeded ask for.
inline constexpr double kPower = 0.95;

// The level of a job in a suite of `jobs`: the smaller of 2e-5 and 0.01/jobs,
// so that one clean suite in a hundred has a false alarm at most.
double LevelFor(int64_t jobs);

struct PairedDesign {
  // Pairs at each look, rising.
  std::vector<int> looks;
  // Chance of a false alarm in either direction, over all looks.
  double level = 0;
  double interest_percent = kInterestPercent;
};

// Looks after 10 pairs, after `max_pairs`, and half way between.
std::vector<int> DefaultLooks(int max_pairs);

// Looks for a wanted power: as few pairs as see a change of
// `interest_percent` with chance kPower when differences of pairs scatter by
// `spread` (standard deviation of logarithms), but at most `max_pairs`.
std::vector<int> LooksFor(double spread, double level, double interest_percent,
                          int max_pairs);

// What look number `look` may spend on each direction. 0 for a look with so
// few pairs that not even equal signs throughout would be enough.
double ShareOfLook(const PairedDesign& design, int look);

enum class PairedVerdict { kSame, kFaster, kSlower, kCannotTell };

struct PairedLook {
  // kCannotTell before the last look: go on.
  PairedVerdict verdict = PairedVerdict::kCannotTell;
  // True: a change is proved, but it is less than half of what is of interest.
  bool is_small_change = false;
  // Logarithms of B over A.
  double estimate = 0;
  absl::optional<Interval> interval;
  // Two-sided; may be some larger value where it is far above the level, as
  // long as it was not asked to be exact.
  double p_value = 1;
  // Standard deviation of the differences, not moved by a few wild ones.
  double spread = 0;
  // Smallest change (logarithm) that the design sees with chance kPower.
  double floor = 0;
};

// Looks at `differences` (logarithm of B's time over A's, pair by pair):
// - slower: the sign-flip test rejects "no change" at the look's share, and
//   the estimate is at least half of the change of interest;
// - faster: the same in the other direction;
// - same: the interval lies within the change of interest on both sides;
// - else cannot tell.
// `look` indexes design.looks. REQUIRES: `differences` not empty.
PairedLook LookAt(absl::Span<const double> differences,
                  const PairedDesign& design, int look,
                  bool exact_p_value = false);

// Smallest change (logarithm) seen with chance kPower by `pairs` pairs at
// `share`, when differences scatter by `spread`. Infinite when so few pairs
// cannot reach the share at all.
double FloorOf(double spread, int pairs, double share);

// "same", "faster", "slower", "cannot_tell".
std::string PairedVerdictName(PairedVerdict verdict);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_PAIRED_DESIGN_H_
