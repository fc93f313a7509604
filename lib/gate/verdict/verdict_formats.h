// Verdicts for people: text, Markdown, and explanations of single verdicts.
#pragma once

#include <string>
#include <vector>

#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// Text for people, worst first: a table with the change, its p-value, a
// sparkline of the pairs, and the reason; then the suite, and the command to
// run each job again. Shows at most `limit` jobs that are the same; 0: all.
std::string VerdictText(const std::vector<Verdict>& jobs, const Verdict& suite,
                        int limit);
// The same for a comment on a pull request. Jobs that are the same are
// collapsed.
std::string VerdictMarkdown(const std::vector<Verdict>& jobs,
                            const Verdict& suite);

// Sorts verdicts: slower, cannot tell, invalid, faster, same; within each the
// largest change first. Stable otherwise.
std::vector<Verdict> WorstFirst(std::vector<Verdict> jobs);

// Nothing to see: the same, no warning, and no metric moved.
bool IsPlain(const Verdict& job);

// Metrics that moved, one text for each.
std::vector<std::string> MovedMetrics(const Verdict& job);

// "3 slower, 1 cannot tell, 20 same".
std::string CountsText(const VerdictCounts& counts);

// Explains the verdict on a job of a duel: its pairs, each look, what the look
// could spend, the estimate, the test, and the rule that decided.
std::string ExplainPairs(const PairedJob& job, const PairedRows& rows,
                         const PairedOptions& options, const Verdict& verdict);

// The same for tolerances: every check with its numbers.
std::string ExplainRules(const Verdict& verdict);

}  // namespace feedrate
