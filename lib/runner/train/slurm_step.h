// This process among those that one `srun` started.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_SLURM_STEP_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_SLURM_STEP_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"

namespace feedrate {

struct SlurmStep {
  // Of `world_size` processes on all nodes.
  int rank = 0;
  int world_size = 1;
  // Of those on this node: which of its GPUs is ours.
  int local_rank = 0;
  // Where rank 0 is, and the first of the ports that it listens on.
  std::string leader;
  int port = 0;
  // Names job and step, so that a stranger at the port is known as one.
  std::string token;
};

// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;
// Whether a host name has an address.
using Resolver = std::function<bool(const std::string& host)>;

// Nothing outside of srun and for a step of one task. The leader is
// MASTER_ADDR, or the step's first node, or, where that name has no address,
// the node of srun itself, which in a batch script is the first too. Its port
// is MASTER_PORT, or comes from the job's number. InvalidArgument names the
// variable that makes no sense.
absl::StatusOr<absl::optional<SlurmStep>> SlurmStepOf(const Environment& get,
                                                      const Resolver& resolves);
// Of this process.
absl::StatusOr<absl::optional<SlurmStep>> ThisSlurmStep();

// The first of "gpu[07-12,20],cpu1": "gpu07".
std::string FirstHost(const std::string& nodelist);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_SLURM_STEP_H_
