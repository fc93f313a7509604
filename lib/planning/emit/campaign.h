// A plan as tasks that machines take one by one.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_CAMPAIGN_H_
#define FEEDRATE_LIB_PLANNING_EMIT_CAMPAIGN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/planning/emit/chunks.h"
#include "lib/planning/plan_session.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct CampaignTask {
  // Of letters, digits and hyphens; sorts in the order of the waves.
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

#endif  // FEEDRATE_LIB_PLANNING_EMIT_CAMPAIGN_H_
