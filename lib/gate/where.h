// Where a change of time comes from: the parts of both sides of a duel
// (functions of a profile, stages of a loader, parts of a training step),
// ranked by their share of the change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/gate/paired_rows.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// Seconds by part.
using PartSeconds = std::map<std::string, double>;

// The parts of both sides of one pair.
struct PartPair {
  PartSeconds a;
  PartSeconds b;
};

// One entry per part, the largest change first. Means are over pairs; the 95%
// intervals come from resampling the pairs. The share of the change is absent
// where it would be meaningless: if the interval of the whole change contains
// 0. The result depends only on the arguments. REQUIRES: `pairs` is not empty.
std::vector<ProfilePart> RankParts(const std::vector<PartPair>& pairs);

// Seconds by stack: frames from the outermost to the innermost, joined by `;`.
using FoldedStacks = std::map<std::string, double>;

// The profile of a duel: the innermost frames are ranked as parts, and the
// stacks become a tree without branches below 0.1% of the time. REQUIRES:
// `a` and `b` have the same number of runs, at least one.
Profile MakeProfile(const std::string& profiler,
                    const std::vector<FoldedStacks>& a,
                    const std::vector<FoldedStacks>& b);

// The stages of the loader or the parts of the training step in a job's rows,
// in seconds per item or step. Empty if its rows have none in two pairs.
std::vector<ProfilePart> RowParts(const PairedJob& job);

// A table for people, with the `most` largest changes.
std::string PartsText(const std::vector<ProfilePart>& parts, int most);
// The same with a heading.
std::string ProfileText(const Profile& profile, int most);

}  // namespace feedrate
