#include "lib/runner/run_and_tell.h"

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/exit_code.h"
#include "lib/base/status_macros.h"
#include "lib/records/records.pb.h"
#include "lib/runner/run.h"

namespace feedrate {

absl::StatusOr<ExitCode> RunAndTell(
    RunOptions options, const std::function<std::string(const Row&)>& text_of,
    const std::function<std::string(const std::vector<Row>&)>& summary) {
  std::vector<Row> rows;
  std::string report;
  options.on_row = [&](const Row& row) {
    rows.push_back(row);
    // Long, and a summary needs none of it.
    rows.back().clear_samples_s();
    report += text_of(row);
  };
  ASSIGN_OR_RETURN(const ExitCode code, RunJobs(options));
  std::cerr << report << summary(rows);
  return code;
}

}  // namespace feedrate
