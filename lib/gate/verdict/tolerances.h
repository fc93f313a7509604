// How much worse than its baseline a number may be: files of tolerances.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/tolerances.pb.h"

namespace feedrate {

// Reads and checks a file of tolerances. InvalidArgument names file and line. A
// metric must be one of MetricNames or of `others`, or a pattern for one: a
// tolerance of a misspelled metric would never be breached.
absl::StatusOr<Tolerances> LoadTolerances(
    const std::string& path, const std::vector<std::string>& others = {});

// The same for text. `file` is used in messages.
absl::StatusOr<Tolerances> ParseTolerances(
    absl::string_view text, const std::string& file,
    const std::vector<std::string>& others = {});

// The tolerance for `metric` of a job: the last one that matches. Null if there
// is none, if it is off, or if it is for a tail and `with_tails` is false.
const Tolerance* ToleranceFor(const Tolerances& tolerances,
                              const std::string& metric,
                              const std::string& job_id,
                              const std::string& label, bool with_tails);

}  // namespace feedrate
