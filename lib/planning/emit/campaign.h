// A plan as a campaign: tasks of about equal cost that machines take one by
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/planning/needs.h"
#include "lib/planning/plan_session.h"
#include "lib/records/job.pb.h"

namespace feedrate {

// A range of the jobs of one config.
struct Chunk {
  int64_t first_job = 0;
  int64_t jobs = 0;
  double cost_s = 0;
  // What all its jobs need together.
  Needs needs;
};

// Gathers the jobs of a config in their order.
class ChunkCutter {
 public:
  void Add(const Job& job, const Needs& needs);

  // As many chunks as the whole cost holds `task_s`, each as near to its share
  // as the boundaries allow: between two transforms, because the libraries of a
  // transform are compared and share a machine. Jobs that need different
  // numbers of GPUs or nodes are never in one.
  std::vector<Chunk> Cut(double task_s) const;

 private:
  // Jobs that stay together.
  std::vector<Chunk> groups_;
  std::string last_transform_;
  int64_t jobs_ = 0;
};

// A plan as tasks that machines take one by one.

struct CampaignTask {
  // Letters, digits and hyphens; sorts in the order of the waves.
  std::string name;
  // From 1. Of a cluster: a step of the paper's order; of a cloud: what fits
  // the quota together.
  int wave = 1;
  // Which of the session's configs, and which of its jobs.
  size_t config = 0;
  Chunk chunk;
  // The program that runs it.
  std::string tool;
  // Machine of a cloud. Empty for a cluster.
  std::string machine_type;
  std::string zone;
  int disk_size_gb = 0;

  // `cpu` or `gpu`.
  std::string hardware_class() const {
    return chunk.needs.gpus > 0 ? "gpu" : "cpu";
  }
};

struct Campaign {
  // `feedrate-` and digits that the jobs decide: the same plan has the same id.
  std::string id;
  // Sorted by name.
  std::vector<CampaignTask> tasks;
  // Estimated cost at the quota's prices. Absent where a machine has no price.
  std::optional<double> price;
};

// For a cluster, whose scheduler knows what is free: chunks of about `task_s`
// seconds. InvalidArgument when there is nothing to run.
absl::StatusOr<Campaign> ClusterCampaign(const PlanSession& session,
                                         double task_s);

// For a cloud project: a task a machine, in waves under the quota.
absl::StatusOr<Campaign> CloudCampaign(const PlanSession& session,
                                       const LoadedQuota& quota);

// Calls `write` for each job with the task that it belongs to, in the order of
// configs and jobs.
absl::Status ForEachCampaignJob(
    const PlanSession& session, const Campaign& campaign,
    const std::function<absl::Status(const CampaignTask&, const Job&)>& write);

}  // namespace feedrate
