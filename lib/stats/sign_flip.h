// An exact test of paired differences that needs no assumption about noise.
#ifndef FEEDRATE_LIB_STATS_SIGN_FLIP_H_
#define FEEDRATE_LIB_STATS_SIGN_FLIP_H_

#include <vector>

#include "absl/types/span.h"

namespace feedrate {

// Up to this many values the test counts every pattern of signs.
inline constexpr int kMaxExactFlips = 36;

// The share of the 2^n patterns of signs whose sum is at least that of
// `values`.
//
// When two sides are the same program and a coin decides which of a pair runs
// first, each difference has either sign with equal chance, whatever the
// machine does: drift, neighbours, heavy tails, runs that depend on the ones
// before. So this is an exact p-value of "nothing changed" against "the sum is
// larger", by the design of the experiment and not by a model of its noise.
// It is never below 2^-n.
//
// Above kMaxExactFlips values it is an upper bound of that share: 3.18 times
// the normal tail (Bentkus and Dzindzalieta 2015; it holds for all weights).
//
// `enough`: a result that is certain to be above it may be returned as some
// other value above it, in less time.
double SignFlipPValue(absl::Span<const double> values, double enough = 1);

// The smallest p-value that `n` pairs can give.
double SmallestSignFlipPValue(int n);

// `values`, with those that are larger than 1.25 times the median of their
// sizes cut down to that. It is an odd function of each value, and the limit
// does not depend on signs, so the test is as exact on the result; but one wild
// pair can no longer hide what all others show.
std::vector<double> LimitedScores(absl::Span<const double> values);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_SIGN_FLIP_H_
