// What a duel costs and what came out of it, for people and for other programs.
#pragma once

#include <cstdint>
#include <string>

#include "lib/gate/duel/duel.h"

namespace feedrate {

// A summary for people. One job: both times with spread and range, then how
// they compare. Several jobs: those that are not the same, and counts.
std::string DuelSummary(const DuelOptions& options, const DuelResult& result);

// What the error level costs in pairs if there are `jobs` jobs, in one line.
std::string DuelCost(const DuelOptions& options, int64_t jobs);

// One line per job: times, change, interval, pairs, verdict. `format` is `csv`,
// `markdown` or `json` (an array of verdict records).
std::string DuelExport(const DuelResult& result, const std::string& format);

}  // namespace feedrate
