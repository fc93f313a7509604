// Jobs cut into tasks of about equal cost.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_CHUNKS_H_
#define FEEDRATE_LIB_PLANNING_EMIT_CHUNKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// What a task needs of its machine.
struct Needs {
  int cpus = 1;
  int gpus = 0;
  int64_t memory_bytes = 0;
};

// Of one job. Processors: one for what is measured or each of its workers, and
// one for the runner.
Needs NeedsOf(const Job& job, const Scenario& scenario,
              const CampaignPolicy& policy);

// A range of the jobs of one config.
struct Chunk {
  int64_t first_job = 0;
  int64_t jobs = 0;
  double cost_s = 0;
  // The largest of its jobs.
  Needs needs;
};

// Gathers the jobs of a config in their order.
class ChunkCutter {
 public:
  void Add(const Job& job, const Needs& needs);

  // As many chunks as the whole cost holds `task_s`, each as near to its share
  // as the boundaries allow: between two transforms, because the libraries of a
  // transform are compared and share a machine. Jobs that need a GPU and jobs
  // that do not are never in one.
  std::vector<Chunk> Cut(double task_s) const;

 private:
  // Jobs that stay together.
  std::vector<Chunk> groups_;
  std::string last_transform_;
  int64_t jobs_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_CHUNKS_H_
