// A run that ends with words for a person.
#ifndef FEEDRATE_LIB_RUNNER_RUN_AND_TELL_H_
#define FEEDRATE_LIB_RUNNER_RUN_AND_TELL_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/exit_code.h"
#include "lib/records/records.pb.h"
#include "lib/runner/run.h"

namespace feedrate {

// RunJobs, and on standard error afterwards what `text_of` says of each row, in
// the order of the rows, and `summary` of all; it gets them without samples_s.
// Replaces `options.on_row`.
absl::StatusOr<ExitCode> RunAndTell(
    RunOptions options, const std::function<std::string(const Row&)>& text_of,
    const std::function<std::string(const std::vector<Row>&)>& summary);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_RUN_AND_TELL_H_
