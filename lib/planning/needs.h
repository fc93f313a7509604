// What jobs need of the machine that runs them: nodes, processors, GPUs and
// memory, and how these numbers follow from the jobs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/job.pb.h"

namespace feedrate {

// All numbers are per node.
struct Needs {
  int nodes = 1;
  // Processes that `srun` starts on each node. Above 1 only with several nodes:
  // on one node a program starts its processes itself.
  int tasks = 1;
  int cpus = 1;
  int gpus = 0;
  // Memory of what runs at one time: programs, libraries, batches.
  int64_t process_bytes = 0;
  // Decoded items in each form that a library gets, by name of the form. All
  // jobs of a task share them, so a runner holds every form at once.
  std::map<std::string, int64_t> inputs;
  // How processors follow from the job, such as "8 workers and the runner".
  std::string cpus_basis;

  int64_t memory_bytes() const;
  // Such as "9 CPUs (8 workers and the runner), 1 GPU, 24.1 GB (3.0 GB for
  // programs and batches, 6.0 GB decoded, …)".
  std::string ToText() const;
};

// Enlarges `needs` so that a machine can also run what needs `more`.
void Include(const Needs& more, Needs* needs);

// What one job needs, by its mode:
//   micro, decode  one processor for the measured process, one for the runner
//   pipeline       one per worker, one for the runner
//   mixture        one per decoding thread, one for the runner
//   train          per process (`world_size`): one, one per loader worker, and
//                  on CUDA a GPU; as many processes per node as it has GPUs
// InvalidArgument when no machine has that much.
absl::StatusOr<Needs> NeedsOf(const Job& job, const Catalogue& catalogue);

}  // namespace feedrate
