#include "lib/planning/needs.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/quota.pb.h"
#include "lib/planning/plan_session.h"
#include "lib/records/job.pb.h"

namespace feedrate {
namespace {

using testing::HasSubstr;

constexpr int64_t kGb = 1000000000;

class NeedsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Catalogue::Load("configs");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    catalogue_.emplace(*std::move(loaded));
  }

  Job JobOf(const std::string& scenario, const std::string& mode,
            const std::string& library) {
    Job job;
    job.set_job_id("abc");
    job.set_scenario(scenario);
    job.set_mode(mode);
    job.set_library(library);
    job.set_device("cpu");
    job.set_hardware_class("cpu");
    job.set_num_items(10000);
    job.set_batch_size(64);
    job.set_scope("memory_dataloader_augment");
    return job;
  }

  Needs Of(const Job& job) {
    const absl::StatusOr<Needs> needs = NeedsOf(job, *catalogue_);
    EXPECT_TRUE(needs.ok()) << needs.status();
    return needs.ok() ? *needs : Needs();
  }

  std::string Refusal(const Job& job) {
    return std::string(NeedsOf(job, *catalogue_).status().message());
  }

  absl::optional<Catalogue> catalogue_;
};

// 10,000 photographs of 0.2 MB per channel.
TEST_F(NeedsTest, ItemsAreHeldInEachFormOnce) {
  Job job = JobOf("image-9ch", "pipeline", "kornia");
  job.set_workers(8);
  Needs all = Of(job);
  EXPECT_EQ(all.cpus, 9);
  EXPECT_EQ(all.inputs["as decoded"], 6 * kGb);
  EXPECT_EQ(all.inputs["as float32 in planes with 9 channels"], 72 * kGb);
  job.set_library("torchvision");
  Include(Of(job), &all);
  Include(Of(job), &all);
  EXPECT_EQ(all.inputs["as uint8 in planes with 9 channels"], 18 * kGb);
  EXPECT_EQ(all.inputs.size(), 3u);
  EXPECT_EQ(all.memory_bytes(), all.process_bytes + 96 * kGb);
  EXPECT_THAT(all.ToText(), HasSubstr("9 CPUs (8 workers and the runner), "));
  EXPECT_THAT(all.ToText(), HasSubstr("6.0 GB of items as decoded"));
}

TEST_F(NeedsTest, LoaderThatDecodesHoldsBatches) {
  Job job = JobOf("image-9ch", "pipeline", "kornia");
  job.set_workers(8);
  job.set_scope("decode_dataloader_augment");
  const Needs needs = Of(job);
  EXPECT_TRUE(needs.inputs.empty());
  EXPECT_LT(needs.memory_bytes(), 6 * kGb);
  EXPECT_GT(needs.memory_bytes(), 3 * kGb);
}

TEST_F(NeedsTest, MicroHasOneProcessAndOneGpu) {
  Job job = JobOf("image-rgb", "micro", "albumentationsx");
  EXPECT_EQ(Of(job).cpus, 2);
  EXPECT_EQ(Of(job).gpus, 0);
  // AlbumentationsX takes images as they are decoded: no second copy is
  // counted.
  EXPECT_EQ(Of(job).memory_bytes(), 9 * kGb);
  job.set_hardware_class("gpu");
  EXPECT_EQ(Of(job).gpus, 1);
}

TEST_F(NeedsTest, MixtureHasAProcessorPerDecodingThread) {
  Job job = JobOf("episodes", "mixture", "native");
  (*job.mutable_settings())["decode_parallelism"] = "4";
  EXPECT_EQ(Of(job).cpus, 5);
  EXPECT_LT(Of(job).memory_bytes(), 8 * kGb);
  (*job.mutable_settings())["decode_parallelism"] = "0";
  EXPECT_EQ(Of(job).cpus, 1 + catalogue_->policy().campaign().mixture_cpus());
}

TEST_F(NeedsTest, TrainingHasAGpuPerProcess) {
  Job job = JobOf("train", "train", "feedrate");
  job.set_num_items(0);
  job.set_scope("synthetic");
  job.set_device("cuda");
  job.set_hardware_class("gpu");
  job.set_workers(2);
  EXPECT_EQ(Of(job).gpus, 1);
  EXPECT_EQ(Of(job).cpus, 4);
  EXPECT_LT(Of(job).memory_bytes(), 5 * kGb);
  (*job.mutable_settings())["world_size"] = "8";
  Needs needs = Of(job);
  EXPECT_EQ(needs.nodes, 1);
  EXPECT_EQ(needs.tasks, 1);
  EXPECT_EQ(needs.gpus, 8);
  EXPECT_EQ(needs.cpus, 8 * 3 + 1);
  EXPECT_LT(needs.memory_bytes(), 40 * kGb);
  EXPECT_THAT(needs.ToText(),
              HasSubstr("25 CPUs (8 processes with 2 loader "
                        "workers each and the runner), 8 GPUs"));
  (*job.mutable_settings())["world_size"] = "12";
  needs = Of(job);
  EXPECT_EQ(needs.nodes, 2);
  EXPECT_EQ(needs.tasks, 6);
  EXPECT_EQ(needs.gpus, 6);
  EXPECT_EQ(needs.cpus, 6 * 3);
  (*job.mutable_settings())["world_size"] = "9";
  EXPECT_THAT(Refusal(job), HasSubstr("world_size 9 cannot be spread evenly "
                                      "over 2 nodes of 8 GPUs; use a multiple "
                                      "of 2"));
  job.set_device("cpu");
  EXPECT_EQ(Of(job).gpus, 0);
  EXPECT_EQ(Of(job).nodes, 1);
}

// They became --mem=0M and a negative number of processors.
TEST_F(NeedsTest, AbsurdNumbersAreRefused) {
  Job job = JobOf("image-rgb", "pipeline", "torchvision");
  job.set_scope("decode_dataloader_augment");
  job.set_batch_size(1);
  job.set_workers(std::numeric_limits<int32_t>::max());
  EXPECT_THAT(Refusal(job), HasSubstr("e+06 GiB, which no machine has"));
  job.set_workers(60000);
  EXPECT_EQ(Refusal(job), "");
  job.set_batch_size(std::numeric_limits<int32_t>::max());
  EXPECT_THAT(Refusal(job), HasSubstr("job abc: 60000 workers with batch_size "
                                      "2147483647"));
  job.set_scope("memory_dataloader_augment");
  job.set_num_items(std::numeric_limits<int64_t>::max());
  EXPECT_NE(Refusal(job), "");
}

// The machines of the paper's quota.
TEST_F(NeedsTest, EveryPaperConfigFitsItsMachine) {
  PlanInputs inputs;
  inputs.configs = {"configs/paper"};
  inputs.set = kAllSets;
  const auto session = PlanSession::Start(inputs);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->configs().size(), 25u);
  const auto quota = (*session)->LoadQuota();
  ASSERT_TRUE(quota.ok()) << quota.status();
  for (const MachineType& machine : quota->quota.machine_types()) {
    EXPECT_TRUE(machine.has_memory_gib()) << machine.name();
  }
  EXPECT_TRUE((*session)->CloudTasks(*quota).ok())
      << (*session)->CloudTasks(*quota).status();
}

TEST_F(NeedsTest, TooSmallAMachineIsNamed) {
  PlanInputs inputs;
  inputs.configs = {"configs/paper/prod_c4_9ch_dataloader_cpu.textproto"};
  const auto session = PlanSession::Start(inputs);
  ASSERT_TRUE(session.ok()) << session.status();
  auto quota = (*session)->LoadQuota();
  ASSERT_TRUE(quota.ok()) << quota.status();
  for (MachineType& machine : *quota->quota.mutable_machine_types()) {
    if (machine.name() == "c4-highmem-16") machine.set_memory_gib(60);
  }
  EXPECT_THAT(
      std::string((*session)->CloudTasks(*quota).status().message()),
      HasSubstr("c4-highmem-16 has 16 CPUs, 0 GPUs and 64.4 GB, but the jobs "
                "need 9 CPUs (8 workers and the runner)"));
}

}  // namespace
}  // namespace feedrate
