#include "lib/planning/emit/slurm_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/config/policy.pb.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/emit/chunks.h"
#include "lib/planning/emit/templates.h"

namespace feedrate {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

bool Fits(const SlurmArray& array, const CampaignTask& task, int limit) {
  const CampaignTask& other = *array.tasks[0];
  return static_cast<int>(array.tasks.size()) < limit &&
         other.wave == task.wave &&
         other.hardware_class() == task.hardware_class();
}

}  // namespace

std::vector<SlurmArray> SlurmArrays(const Campaign& campaign, int limit) {
  std::vector<SlurmArray> arrays;
  int part = 0;
  for (const CampaignTask& task : campaign.tasks) {
    if (arrays.empty() || !Fits(arrays.back(), task, limit)) {
      const bool is_next_part =
          !arrays.empty() && Fits(arrays.back(), task, limit + 1);
      part = is_next_part ? part + 1 : 1;
      arrays.emplace_back();
      // Sorts in the order of the waves, for submit.sh.
      arrays.back().name =
          absl::StrFormat("%s-w%02d-%s-%03d", campaign.id, task.wave,
                          task.hardware_class(), part);
    }
    arrays.back().tasks.push_back(&task);
  }
  return arrays;
}

std::string TaskList(const SlurmArray& array) {
  std::string list;
  for (const CampaignTask* task : array.tasks) {
    absl::StrAppend(&list, task->name, "\n");
  }
  return list;
}

std::string SlurmTime(double seconds) {
  const int64_t all = static_cast<int64_t>(std::ceil(seconds));
  return absl::StrFormat("%d-%02d:%02d:%02d", all / 86400, all / 3600 % 24,
                         all / 60 % 60, all % 60);
}

std::string BatchScript(const SlurmArray& array, const CampaignPolicy& policy) {
  Needs needs;
  double longest_s = 0;
  for (const CampaignTask* task : array.tasks) {
    needs.cpus = std::max(needs.cpus, task->chunk.needs.cpus);
    needs.gpus = std::max(needs.gpus, task->chunk.needs.gpus);
    needs.memory_bytes =
        std::max(needs.memory_bytes, task->chunk.needs.memory_bytes);
    longest_s = std::max(longest_s, task->chunk.cost_s);
  }
  const double time_s = policy.task_setup_s() +
                        policy.time_margin() * longest_s + policy.warning_s();
  return FillTemplate(
      "array.sbatch",
      {{"NAME", array.name},
       {"LAST", absl::StrCat(array.tasks.size() - 1)},
       {"TASKS", absl::StrCat(array.tasks.size())},
       {"CPUS", absl::StrCat(needs.cpus)},
       {"MEMORY_MB",
        absl::StrCat((needs.memory_bytes + kMegabyte - 1) / kMegabyte)},
       {"TIME", SlurmTime(time_s)},
       {"WARNING_S", absl::StrCat(policy.warning_s())},
       {"MAX_RESTARTS", absl::StrCat(policy.max_restarts())},
       {"GPU", needs.gpus > 0 ? absl::StrCat("#SBATCH --gres=gpu:", needs.gpus)
                              : "#"}});
}

}  // namespace feedrate
