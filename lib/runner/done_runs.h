// What earlier starts of a runner have done, for `--resume`.
#ifndef FEEDRATE_LIB_RUNNER_DONE_RUNS_H_
#define FEEDRATE_LIB_RUNNER_DONE_RUNS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/planning/jobs.h"
#include "lib/records/records.pb.h"

namespace feedrate {

class DoneRuns {
 public:
  // Rows count as done when they are of this machine and of the library
  // version that `version_of` gives for their library; where it gives none,
  // any.
  using VersionOf = std::function<std::string(const std::string& library)>;
  DoneRuns(const std::string& machine_profile, VersionOf version_of)
      : machine_profile_(machine_profile),
        version_of_(std::move(version_of)),
        existing_(machine_profile) {}

  absl::Status Read(const std::vector<std::string>& files,
                    const std::function<void(const std::string&)>& warn);

  bool Done(const std::string& job_id, int32_t run_index) const {
    return existing_.Done(job_id, run_index);
  }
  // The number of the next attempt, whatever machine or version made the last.
  int32_t NextAttempt(const std::string& job_id, int32_t run_index) const;

 private:
  const std::string machine_profile_;
  const VersionOf version_of_;
  ExistingRuns existing_;
  std::map<std::pair<std::string, int32_t>, int32_t> attempts_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_DONE_RUNS_H_
