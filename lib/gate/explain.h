// One decision with its numbers, step by step.
#ifndef FEEDRATE_LIB_GATE_EXPLAIN_H_
#define FEEDRATE_LIB_GATE_EXPLAIN_H_

#include <string>

#include "lib/gate/judge_pairs.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// How the verdict on a job of a duel came about: its pairs, each look, what the
// look could spend, the estimate, the test, the rule that decided.
std::string ExplainPairs(const PairedJob& job, const PairedRows& rows,
                         const PairedOptions& options, const Verdict& verdict);

// The same for tolerances: every check with its numbers.
std::string ExplainRules(const Verdict& verdict);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_EXPLAIN_H_
