// Verdicts as workflow commands of GitHub Actions: annotations in the log.
#ifndef FEEDRATE_LIB_GATE_VERDICT_GITHUB_H_
#define FEEDRATE_LIB_GATE_VERDICT_GITHUB_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

// `::error`, `::warning` or `::notice` a job that is not plainly the same, then
// one for the suite. Text is escaped, so a job's name cannot start a command.
std::string VerdictGithub(const std::vector<Verdict>& jobs,
                          const Verdict& suite);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_VERDICT_GITHUB_H_
