// Verdicts for programs: GitHub annotations, SARIF and JUnit.
#pragma once

#include <string>
#include <vector>

#include "lib/records/verdict.pb.h"

namespace feedrate {

// Workflow commands of GitHub Actions: an `::error`, `::warning` or `::notice`
// for each job that is not plainly the same, then one for the suite. Text is
// escaped, so a job's name cannot start a command.
std::string VerdictGithub(const std::vector<Verdict>& jobs,
                          const Verdict& suite);

// SARIF 2.1.0 for code scanning: a result for each job that is not plainly the
// same. Slower and invalid are errors, cannot tell and warnings of rules are
// warnings, faster is a note.
std::string VerdictSarif(const std::vector<Verdict>& jobs,
                         const Verdict& suite);

// JUnit XML, which CI servers show as tests: a test case per job. Slower is a
// failure, invalid an error, cannot tell skipped. `timestamp` is RFC 3339
// without a zone, as the schema requires.
std::string VerdictJunit(const std::vector<Verdict>& jobs, const Verdict& suite,
                         const std::string& timestamp);

}  // namespace feedrate
