// Tasks packed into waves under a quota.
#ifndef FEEDRATE_LIB_PLANNING_WAVES_H_
#define FEEDRATE_LIB_PLANNING_WAVES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/config/policy.pb.h"
#include "lib/config/quota.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Puts tasks into the order of the paper (policy's `paper_order`, then as
// they come) and fills wave after wave with what the quota allows. Tasks of
// one machine type never overtake each other; a task of another type that
// still fits does not wait for them. A wave ends when its last task does.
// InvalidArgument when a single machine is more than the quota gives.
absl::StatusOr<std::vector<Wave>> PackWaves(std::vector<WaveTask> tasks,
                                            const Quota& quota,
                                            const Policy& policy);

// Where a scenario and mode stand in the order of the paper, from 0; what is
// not in it comes last.
int PaperStepOf(const std::string& scenario, const std::string& mode,
                const Policy& policy);

// The waves for people: machines, jobs, time, what binds, the end.
std::string WavesText(const std::vector<Wave>& waves);

// Seconds until a machine is ready, of the quota file or the default.
double SetupSeconds(const Quota& quota);
// Longest work of one machine, of the quota file or the default.
double MaxTaskSeconds(const Quota& quota);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_WAVES_H_
