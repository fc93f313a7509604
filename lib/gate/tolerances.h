// Files of tolerances.
#ifndef FEEDRATE_LIB_GATE_TOLERANCES_H_
#define FEEDRATE_LIB_GATE_TOLERANCES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/tolerances.pb.h"

namespace feedrate {

// Reads and checks a file. InvalidArgument names file and place.
absl::StatusOr<Tolerances> LoadTolerances(const std::string& path);

// The same for text; `file` is for messages.
absl::StatusOr<Tolerances> ParseTolerances(absl::string_view text,
                                           const std::string& file);

// The tolerance for `metric` of a job: the last that matches. Null: none, or
// it is off, or it is of a tail and those are not wanted.
const Tolerance* ToleranceFor(const Tolerances& tolerances,
                              const std::string& metric,
                              const std::string& job_id,
                              const std::string& words, bool with_tails);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_TOLERANCES_H_
