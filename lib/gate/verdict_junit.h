// Verdicts as JUnit XML, which every CI server shows as tests.
#ifndef FEEDRATE_LIB_GATE_VERDICT_JUNIT_H_
#define FEEDRATE_LIB_GATE_VERDICT_JUNIT_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

// A test case a job: slower is a failure, invalid an error, cannot tell
// skipped. `timestamp` is RFC 3339 without a zone, as the schema wants it.
std::string VerdictJunit(const std::vector<Verdict>& jobs, const Verdict& suite,
                         const std::string& timestamp);

// Text with what XML does not allow replaced.
std::string XmlText(const std::string& text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_VERDICT_JUNIT_H_
