// The libraries of one transform, measured side by side.
#ifndef FEEDRATE_LIB_RUNNER_GROUP_RUN_H_
#define FEEDRATE_LIB_RUNNER_GROUP_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "lib/records/records.pb.h"
#include "lib/runner/run_context.h"

namespace feedrate {

// Jobs that differ in nothing but their library, in the order of their first.
// Indexes into `jobs`.
std::vector<std::vector<int>> GroupJobs(const std::vector<Job>& jobs);

// 0 … count-1 in an order that `seed` decides, the same on every machine.
std::vector<int> ShuffledOrder(int count, uint64_t seed);

// Called when a job begins or ends.
struct GroupProgress {
  std::function<void(const Job&)> begins;
  std::function<void(const Job&)> ends;
};

// Starts and prepares the jobs together, then measures one run index of each in
// turn, in an order shuffled by the jobs' seed, while the others wait on their
// pipes: what disturbs the machine for a while hits all of them. A death costs
// its own row. Where memory does not allow that, one after the other, labelled
// `memory_limited`. Fails only as JobRun does.
absl::Status RunGroup(const RunContext& context,
                      const std::vector<const Job*>& jobs,
                      const GroupProgress& progress);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_GROUP_RUN_H_
