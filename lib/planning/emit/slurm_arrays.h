// Tasks as job arrays of Slurm.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_SLURM_ARRAYS_H_
#define FEEDRATE_LIB_PLANNING_EMIT_SLURM_ARRAYS_H_

#include <string>
#include <vector>

#include "lib/config/policy.pb.h"
#include "lib/planning/emit/campaign.h"

namespace feedrate {

struct SlurmArray {
  // The campaign's id, wave, kind of machine, and a number where the wave has
  // more tasks than an array may have. Also the name of the job.
  std::string name;
  // Of one wave and kind; at least one. Of the campaign, which outlives this.
  std::vector<const CampaignTask*> tasks;
};

// All tasks of the campaign, at most `limit` in an array, in order.
std::vector<SlurmArray> SlurmArrays(const Campaign& campaign, int limit);

// Names of its tasks, one a line: task N of the array is line N + 1.
std::string TaskList(const SlurmArray& array);

// For sbatch. Asks for what the most demanding of its tasks needs, and for the
// estimated time of the longest with the policy's margin.
std::string BatchScript(const SlurmArray& array, const CampaignPolicy& policy);

// `D-HH:MM:SS` of at least so many seconds.
std::string SlurmTime(double seconds);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_SLURM_ARRAYS_H_
