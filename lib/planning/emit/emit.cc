#include "lib/planning/emit/emit.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/config/policy.pb.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/emit/campaign_folder.h"
#include "lib/planning/emit/slurm_arrays.h"
#include "lib/planning/emit/templates.h"
#include "lib/planning/plan_session.h"
#include "lib/planning/plan_summary.h"

namespace feedrate {
namespace {

std::string Summary(const Campaign& campaign, const std::string& folder,
                    const std::string& what_to_do) {
  int64_t jobs = 0;
  double seconds = 0;
  for (const CampaignTask& task : campaign.tasks) {
    jobs += task.chunk.jobs;
    seconds += task.chunk.cost_s;
  }
  return absl::StrCat(folder, ": ", jobs, " jobs in ", campaign.tasks.size(),
                      " tasks, ", DurationText(seconds), " of work; ",
                      what_to_do, "\n");
}

// The parts that all three share.
absl::StatusOr<std::unique_ptr<CampaignFolder>> StartFolder(
    const PlanSession& session, const CampaignOptions& options,
    const std::string& folder, Campaign* campaign) {
  ASSIGN_OR_RETURN(*campaign, ClusterCampaign(session, options.task_s));
  ASSIGN_OR_RETURN(std::unique_ptr<CampaignFolder> made,
                   CampaignFolder::Create(folder));
  RETURN_IF_ERROR(made->WriteTasks(session, *campaign, options));
  return made;
}

}  // namespace

absl::Status EmitShell(const PlanSession& session,
                       const CampaignOptions& options,
                       const std::string& folder, std::string* summary) {
  Campaign campaign;
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   StartFolder(session, options, folder, &campaign));
  RETURN_IF_ERROR(made->WriteScript("run.sh", Template("run.sh")));
  *summary = Summary(campaign, folder, "start it with its run.sh");
  return made->Commit();
}

absl::Status EmitMake(const PlanSession& session,
                      const CampaignOptions& options, const std::string& folder,
                      std::string* summary) {
  Campaign campaign;
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   StartFolder(session, options, folder, &campaign));
  RETURN_IF_ERROR(made->Write("Makefile", Template("make.mk")));
  *summary = Summary(campaign, folder, "start it there with make");
  return made->Commit();
}

absl::Status EmitSlurm(const PlanSession& session,
                       const CampaignOptions& options,
                       const std::string& folder, std::string* summary) {
  Campaign campaign;
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   StartFolder(session, options, folder, &campaign));
  const CampaignPolicy& policy = session.catalogue().policy().campaign();
  const std::vector<SlurmArray> arrays =
      SlurmArrays(campaign, options.array_limit > 0 ? options.array_limit
                                                    : policy.array_limit());
  for (const SlurmArray& array : arrays) {
    const std::string path = absl::StrCat("arrays/", array.name);
    RETURN_IF_ERROR(made->Write(path + ".tasks", TaskList(array)));
    RETURN_IF_ERROR(made->Write(path + ".sbatch", BatchScript(array, policy)));
  }
  for (const char* const name : {"submit.sh", "collect.sh"}) {
    RETURN_IF_ERROR(made->WriteScript(name, Template(name)));
  }
  RETURN_IF_ERROR(made->Write("Makefile", Template("slurm.mk")));
  *summary = Summary(campaign, folder,
                     absl::StrCat(arrays.size(),
                                  " arrays; submit them there with make submit,"
                                  " then make collect"));
  return made->Commit();
}

}  // namespace feedrate
