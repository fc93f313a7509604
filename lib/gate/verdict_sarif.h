// Verdicts as SARIF 2.1.0, which code scanning shows.
#ifndef FEEDRATE_LIB_GATE_VERDICT_SARIF_H_
#define FEEDRATE_LIB_GATE_VERDICT_SARIF_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

// A result a job that is not plainly the same: slower and invalid are errors,
// cannot tell and rules that warn are warnings, faster is a note.
std::string VerdictSarif(const std::vector<Verdict>& jobs,
                         const Verdict& suite);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_VERDICT_SARIF_H_
