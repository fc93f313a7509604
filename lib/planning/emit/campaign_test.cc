#include "lib/planning/emit/campaign.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/planning/emit/slurm_arrays.h"
#include "lib/planning/plan_session.h"

namespace feedrate {
namespace {

class CampaignTest : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& configs) {
    inputs_.configs = configs;
    auto session = PlanSession::Start(inputs_);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  // Jobs of each task; each is in one.
  std::map<std::string, int64_t> JobsByTask(const Campaign& campaign) {
    std::map<std::string, int64_t> counts;
    std::set<std::string> ids;
    const absl::Status status = ForEachCampaignJob(
        *session_, campaign, [&](const CampaignTask& task, const Job& job) {
          ++counts[task.name];
          EXPECT_TRUE(ids.insert(job.job_id()).second);
          return absl::OkStatus();
        });
    EXPECT_TRUE(status.ok()) << status;
    return counts;
  }

  PlanInputs inputs_;
  std::unique_ptr<PlanSession> session_;
};

TEST_F(CampaignTest, TasksOfAClusterHoldEveryJobOnce) {
  Start({"configs/paper/prod_c4_rgb_micro_cpu.textproto",
         "configs/paper/prod_g2_rgb_micro_gpu.textproto",
         "configs/paper/prod_c4_rgb_dataloader_cpu.textproto"});
  const auto campaign = ClusterCampaign(*session_, 600);
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  const std::map<std::string, int64_t> counts = JobsByTask(*campaign);
  EXPECT_EQ(counts.size(), campaign->tasks.size());
  std::string last;
  for (const CampaignTask& task : campaign->tasks) {
    EXPECT_EQ(counts.at(task.name), task.chunk.jobs) << task.name;
    EXPECT_LT(last, task.name);
    last = task.name;
  }
  // Micro before pipeline, as in the paper; the CPU before the GPU.
  EXPECT_EQ(campaign->tasks.front().name, "w01-cpu-00001");
  EXPECT_EQ(campaign->tasks.front().tool, "micro");
  EXPECT_EQ(campaign->tasks.back().wave, 2);
  EXPECT_EQ(campaign->tasks.back().tool, "pipeline");
  EXPECT_EQ(counts.count("w01-gpu-00001"), 1u);
}

TEST_F(CampaignTest, SamePlanHasTheSameId) {
  Start({"configs/demo.textproto"});
  const std::string id = ClusterCampaign(*session_, 600)->id;
  EXPECT_EQ(ClusterCampaign(*session_, 60)->id, id);
  inputs_.overrides.num_runs = 2;
  Start({"configs/demo.textproto"});
  EXPECT_NE(ClusterCampaign(*session_, 600)->id, id);
}

TEST_F(CampaignTest, TasksOfACloudAreItsMachines) {
  Start({"configs/paper/prod_c4_rgb_micro_cpu.textproto",
         "configs/paper/prod_g2_rgb_micro_gpu.textproto"});
  const auto quota = session_->LoadQuota();
  ASSERT_TRUE(quota.ok()) << quota.status();
  const auto campaign = CloudCampaign(*session_, *quota);
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  for (const auto& [name, jobs] : JobsByTask(*campaign)) EXPECT_GT(jobs, 0);
  for (const CampaignTask& task : campaign->tasks) {
    EXPECT_EQ(task.machine_type, task.hardware_class() == "gpu"
                                     ? "g2-standard-16"
                                     : "c4-standard-16");
  }
}

TEST_F(CampaignTest, ArraysKeepToTheirLimit) {
  Start({"configs/paper/prod_c4_rgb_micro_cpu.textproto",
         "configs/paper/prod_c4_9ch_micro_cpu.textproto"});
  const auto campaign = ClusterCampaign(*session_, 120);
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  const std::vector<SlurmArray> arrays = SlurmArrays(*campaign, 5);
  std::set<std::string> names;
  size_t tasks = 0;
  std::string last;
  for (const SlurmArray& array : arrays) {
    EXPECT_LE(array.tasks.size(), 5u);
    EXPECT_LT(last, array.name);
    last = array.name;
    tasks += array.tasks.size();
    for (const CampaignTask* task : array.tasks) names.insert(task->name);
  }
  EXPECT_EQ(tasks, campaign->tasks.size());
  EXPECT_EQ(names.size(), tasks);
  EXPECT_GT(arrays.size(), 2u);
}

TEST_F(CampaignTest, BatchScriptAsksForWhatTheJobsNeed) {
  Start({"configs/paper/prod_g2_rgb_dataloader_gpu.textproto"});
  const auto campaign = ClusterCampaign(*session_, 600);
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  const CampaignPolicy& policy = session_->catalogue().policy().campaign();
  const std::string script =
      BatchScript(SlurmArrays(*campaign, 1000)[0], policy);
  EXPECT_NE(script.find("\n#SBATCH --cpus-per-task=9\n"), std::string::npos);
  EXPECT_NE(script.find("\n#SBATCH --gres=gpu:1\n"), std::string::npos);
  EXPECT_NE(script.find("\n#SBATCH --signal=B:USR1@120\n"), std::string::npos);
  EXPECT_EQ(script.find("@NAME@"), std::string::npos);
}

TEST(SlurmTimeTest, RoundsUp) {
  EXPECT_EQ(SlurmTime(0.5), "0-00:00:01");
  EXPECT_EQ(SlurmTime(3 * 86400 + 2 * 3600 + 61), "3-02:01:01");
}

}  // namespace
}  // namespace feedrate
