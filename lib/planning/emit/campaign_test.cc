#include "lib/planning/emit/campaign.h"

#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/base/text.h"
#include "lib/planning/emit/emit.h"
#include "lib/planning/emit/gce.h"

namespace feedrate {
namespace {

Job JobOf(const std::string& transform, double cost_s) {
  Job job;
  job.set_transform(transform);
  job.set_cost_s(cost_s);
  job.set_hardware_class("cpu");
  return job;
}

std::vector<Chunk> Cut(const std::vector<Job>& jobs, double task_s) {
  ChunkCutter cutter;
  for (const Job& job : jobs) {
    Needs needs;
    needs.gpus = job.hardware_class() == "cpu" ? 0 : 1;
    cutter.Add(job, needs);
  }
  return cutter.Cut(task_s);
}

TEST(ChunksTest, EveryJobIsInOneChunkInOrder) {
  std::vector<Job> jobs;
  for (int i = 0; i < 500; ++i) {
    jobs.push_back(JobOf("t" + std::to_string(i / 3), 1 + i % 7));
  }
  int64_t next = 0;
  for (const Chunk& chunk : Cut(jobs, 60)) {
    EXPECT_EQ(chunk.first_job, next);
    // Three libraries of a transform stay together.
    EXPECT_TRUE(chunk.jobs % 3 == 0 || next + chunk.jobs == 500);
    next += chunk.jobs;
  }
  EXPECT_EQ(next, 500);
}

TEST(ChunksTest, ChunksCostAboutTheSame) {
  std::vector<Job> jobs;
  for (int i = 0; i < 1000; ++i) {
    jobs.push_back(JobOf("t" + std::to_string(i), 1 + i % 10));
  }
  const std::vector<Chunk> chunks = Cut(jobs, 110);
  ASSERT_EQ(chunks.size(), 50u);  // 5500 s in all.
  for (const Chunk& chunk : chunks) EXPECT_NEAR(chunk.cost_s, 110, 10);
}

TEST(ChunksTest, LongTransformIsAloneAndNothingIsLostAroundIt) {
  const std::vector<Chunk> chunks =
      Cut({JobOf("a", 1), JobOf("b", 1000), JobOf("c", 1)}, 100);
  int64_t jobs = 0;
  for (const Chunk& chunk : chunks) jobs += chunk.jobs;
  EXPECT_EQ(jobs, 3);
}

TEST(ChunksTest, NothingButUnsupportedJobsIsOneChunk) {
  EXPECT_EQ(Cut({JobOf("a", 0), JobOf("b", 0)}, 100).size(), 1u);
  EXPECT_TRUE(Cut({}, 100).empty());
}

TEST(ChunksTest, KindsOfMachinesAreNeverMixed) {
  std::vector<Job> jobs = {JobOf("a", 1), JobOf("a", 1), JobOf("b", 1)};
  jobs[1].set_hardware_class("host_cpu");
  const std::vector<Chunk> chunks = Cut(jobs, 100);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[1].needs.gpus, 1);
  EXPECT_EQ(chunks[2].needs.gpus, 0);
}

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

// A signed query or a password in the files of a campaign is readable for all
// who may read the folder.
TEST_F(CampaignTest, SecretsOfAUrlAreRefused) {
  const std::string folder = testing::TempDir() + "/secret_campaign";
  for (const char* const url :
       {"https://me:hunter2@h/x.tar",
        "https://h/x-{0..9}.tar?id=7&X-Amz-Signature=hunter2"}) {
    inputs_.overrides.Set("dataset", url);
    Start({"configs/demo.textproto"});
    std::string summary;
    const absl::Status status =
        EmitShell(*session_, CampaignOptions(), folder, &summary);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string message(status.message());
    EXPECT_NE(message.find("--dataset"), std::string::npos) << message;
    EXPECT_NE(message.find("stage_dataset"), std::string::npos) << message;
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
    EXPECT_FALSE(IsFolder(folder));
  }
  inputs_.overrides.Set("dataset", "https://h/x-{0..9}.tar?id=7");
  Start({"configs/demo.textproto"});
  EXPECT_TRUE(session_->CheckNoSecrets().ok());
}

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
  inputs_.overrides.Set("num_runs", "2");
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

TEST_F(CampaignTest, TasksWithoutAnEndAreRefused) {
  inputs_.overrides.Set("num_items", "1099511627776");
  inputs_.overrides.Set("dataset", "/data/val");
  Start({"configs/paper/prod_c4_rgb_dataloader_cpu.textproto"});
  const absl::Status status = ClusterCampaign(*session_, 600).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(SlurmTimeTest, RoundsUp) {
  EXPECT_EQ(SlurmTime(0.5), "0-00:00:01");
  EXPECT_EQ(SlurmTime(3 * 86400 + 2 * 3600 + 61), "3-02:01:01");
}

// What bash makes of a command, without its last newline.
std::string OutputOf(const std::string& script) {
  const std::string command = "bash -c " + ShellWord(script);
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += char(c);
  EXPECT_EQ(pclose(pipe), 0);
  return output;
}

const char* const kHostile[] = {"",
                                "plain",
                                "two words",
                                "it's",
                                "$HOME `id` $(id) \\ \"quoted\"",
                                "a\nb\tc",
                                "*?[a-z]{x,y}~!#&|;<>()",
                                "-n",
                                "größe",
                                "'''",
                                "\\'"};

TEST(ShellWordTest, ShellReadsBackEveryWord) {
  for (const char* const text : kHostile) {
    EXPECT_EQ(OutputOf("printf %s. " + ShellWord(text)),
              std::string(text) + ".")
        << text;
  }
}

TEST(ShellSettingsTest, ShellReadsBackValuesAndLists) {
  for (const char* const text : kHostile) {
    ShellSettings settings;
    settings.Comment("what a stranger typed");
    settings.Set("VALUE", text);
    settings.SetList("LIST", {text, "second", text});
    EXPECT_EQ(OutputOf(settings.text() +
                       "printf '%s|%s|%s' \"${#LIST[@]}\" \"$VALUE\" "
                       "\"${LIST[2]}\""),
              "3|" + std::string(text) + "|" + text);
  }
}

CloudRun SomeRun() {
  CloudRun run;
  run.bucket = "gs://bucket";
  run.campaign_id = "feedrate-0123456789ab";
  run.task = "w01-cpu-00001";
  run.machine_type = "c4-standard-16";
  run.archive = "imagenet/val.tar";
  run.bundle_sha256 = std::string(64, 'b');
  run.env_key = std::string(64, 'e');
  run.image_family = "ubuntu-2404-lts-amd64";
  return run;
}

TEST(CloudPathsTest, FollowThePublicPattern) {
  const CloudPaths paths = PathsOfRun(SomeRun());
  ASSERT_EQ(paths.run_id.size(), 32u);
  EXPECT_EQ(paths.run_id.find_first_not_of("0123456789abcdef"),
            std::string::npos);
  EXPECT_EQ(paths.folder,
            "gs://bucket/augmentation-results/" + paths.run_id + "/");
  EXPECT_EQ(paths.instance,
            "benchmark-c4-standard-16-" + paths.run_id.substr(0, 12));
  EXPECT_EQ(paths.rows, paths.folder + "results/w01-cpu-00001.jsonl");
  EXPECT_EQ(paths.exit_code, paths.folder + "exit_code.txt");
  EXPECT_EQ(paths.done, paths.folder + "DONE");
  EXPECT_EQ(paths.archive, "gs://bucket/imagenet/val.tar");
  EXPECT_EQ(paths.env_cache,
            "gs://bucket/augmentation-cache/"
            "venvs-ubuntu-2404-lts-amd64-eeeeeeeeeeeeeeee.tar.gz");
}

TEST(CloudPathsTest, SameRunHasTheSameNames) {
  EXPECT_EQ(PathsOfRun(SomeRun()).folder, PathsOfRun(SomeRun()).folder);
  CloudRun other = SomeRun();
  other.task = "w01-cpu-00002";
  EXPECT_NE(PathsOfRun(SomeRun()).folder, PathsOfRun(other).folder);
  EXPECT_NE(PathsOfRun(SomeRun()).instance, PathsOfRun(other).instance);
}

TEST(CloudPathsTest, InstanceNamesAreShortEnough) {
  CloudRun run = SomeRun();
  run.machine_type = std::string(80, 'm');
  EXPECT_LE(PathsOfRun(run).instance.size(), 63u);
}

}  // namespace
}  // namespace feedrate
