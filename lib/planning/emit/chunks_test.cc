#include "lib/planning/emit/chunks.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/records/records.pb.h"

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

TEST(NeedsTest, ComeFromTheJob) {
  CampaignPolicy policy;
  policy.set_base_memory_bytes(1000);
  policy.set_channel_bytes(10);
  policy.set_bytes_per_byte(2);
  Scenario scenario;
  scenario.set_channels(3);
  Job job = JobOf("a", 1);
  job.set_num_items(5);
  EXPECT_EQ(NeedsOf(job, scenario, policy).cpus, 2);
  EXPECT_EQ(NeedsOf(job, scenario, policy).memory_bytes, 1000 + 5 * 3 * 20);
  job.set_workers(8);
  job.set_batch_size(4);
  job.set_scope("decode_dataloader_augment");
  EXPECT_EQ(NeedsOf(job, scenario, policy).cpus, 9);
  EXPECT_EQ(NeedsOf(job, scenario, policy).memory_bytes,
            1000 + 4 * 8 * 2 * 3 * 20);
  job.set_hardware_class("gpu");
  EXPECT_EQ(NeedsOf(job, scenario, policy).gpus, 1);
}

}  // namespace
}  // namespace feedrate
