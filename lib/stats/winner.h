// Decides whether measurements separate two candidates, and who is ahead. Every
// program that shows a winner, a rank or a speed-up asks these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/stats/summary.h"

namespace feedrate {

// Numbers of runs to measure up to: 3 is the least for an interval, 5 gives a
// usable one, and 10 and 20 are for close calls.
inline constexpr int64_t kRunLadder[] = {3, 5, 10, 20};

// Fewest runs that are evidence. One run shows no spread.
inline constexpr int64_t kMinRunsForWinner = 2;

// Intervals stay valid while at most this share of the runs is disturbed.
// docs/aggregate.md has the simulation.
inline constexpr double kDisturbedShare = 0.2;

// Whether a candidate's output is that of the others.
enum class Work {
  // Exact or equivalent.
  kSame,
  // There is no label: this kind of row compares no outputs.
  kNotCompared,
  // Different, without effect, or not checked although others are.
  kOther,
};
// The work of a row's `equivalence.label`.
Work WorkOfLabel(absl::string_view label);

// One candidate. More is better.
struct Contestant {
  Summary summary;
  // Number of runs that were noisy, contended or throttled.
  int64_t disturbed = 0;
  Work work = Work::kSame;
};

enum class Evidence {
  // The interval of the ratio lies on one side of 1.
  kSeparate,
  kTied,
  // The following say why the ratio proves nothing.
  kFewRuns,
  kDisturbed,
  kOtherWork,
};

struct Separation {
  Evidence evidence = Evidence::kTied;
  // 95% interval of a / b. Absent with one run.
  absl::optional<Interval> ratio;
  // The first number of kRunLadder that should separate them, for kTied and
  // kFewRuns. 0 if none should, or if more runs do not help.
  int64_t runs_needed = 0;
};

// Compares two candidates with medians above 0. kSeparate needs two runs of
// each, at most kDisturbedShare of them disturbed, the same work, and an
// interval of the ratio that excludes 1. Two runs have an interval here too:
// Student's with one degree of freedom, so they must agree closely.
Separation Separate(const Contestant& a, const Contestant& b);

// The place of one candidate among those that it can be compared with.
struct Standing {
  // 1 + the number of candidates that are separate and faster. 0 if there is
  // nothing to compare with, or if its own runs, or those of a candidate with a
  // higher median, are too few or disturbed.
  int rank = 0;
  // Not separate from at least one candidate of the same work.
  bool tied = false;
  // Separate from, and faster than, every other candidate of the same work.
  bool wins = false;
  // Number of other candidates of the same work.
  int rivals = 0;
  // Runs that should separate it from its nearest rival; see Separation.
  int64_t runs_needed = 0;
  // The rival, and why they are not separate. -1 if there is none.
  int rival = -1;
  Evidence evidence = Evidence::kSeparate;
};

// One standing per candidate, in their order. A candidate without runs or with
// a median of 0 has no rank and is nobody's rival, nor has any of more than
// 1,000.
std::vector<Standing> Standings(absl::Span<const Contestant> contestants);

// "tied; 10 runs should separate them" and similar, for people. Empty if they
// are separate.
std::string EvidenceText(Evidence evidence, int64_t runs_needed);

}  // namespace feedrate
