// Verdicts for people: text and Markdown.
#ifndef FEEDRATE_LIB_GATE_VERDICT_TABLE_H_
#define FEEDRATE_LIB_GATE_VERDICT_TABLE_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

// The worst first: a table with the change, how sure it is, a sparkline of the
// pairs, and the reason; then the suite, and what to run to see it again.
// `limit`: jobs that are the same are left out beyond so many; 0: all.
std::string VerdictText(const std::vector<Verdict>& jobs, const Verdict& suite,
                        int limit);
// The same for a comment on a pull request. What is the same is folded.
std::string VerdictMarkdown(const std::vector<Verdict>& jobs,
                            const Verdict& suite);

// "slower" first, then cannot tell, invalid, faster, same; within these the
// largest change first. Stable otherwise.
std::vector<Verdict> WorstFirst(std::vector<Verdict> jobs);

// Such as "+3.12%" with its interval, or "" without an effect.
std::string ChangeText(const Verdict& verdict);
std::string IntervalText(const Verdict& verdict);
// "3 slower, 1 cannot tell, 20 same".
std::string CountsText(const VerdictCounts& counts);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_VERDICT_TABLE_H_
