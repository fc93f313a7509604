// The functions of lib/analysis/report/expression.h.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_FUNCTIONS_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_FUNCTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// The value of `name(arguments…)` over `rows`. InvalidArgument when there is
// no such function or an argument is wrong; NotFound when rows, or a field of
// them, are missing.
absl::StatusOr<double> CallFunction(const std::string& name,
                                    const std::vector<std::string>& arguments,
                                    const std::vector<Row>& rows);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_FUNCTIONS_H_
