// The end of a duel in a few lines, for the person who waited for it.
#ifndef FEEDRATE_LIB_GATE_DUEL_SUMMARY_H_
#define FEEDRATE_LIB_GATE_DUEL_SUMMARY_H_

#include <string>

#include "lib/gate/duel.h"

namespace feedrate {

// One job: both times with spread and range, then how they compare. Many: the
// ones that are not the same, and counts.
std::string DuelSummary(const DuelOptions& options, const DuelResult& result);

// 0.1023 -> "102.3 ms".
std::string SecondsText(double seconds);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_DUEL_SUMMARY_H_
