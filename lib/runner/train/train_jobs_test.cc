#include "lib/runner/train/train_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/runner/train/train_settings.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TrainRequest Request() {
  TrainRequest request;
  request.libraries = {kTrainLibrary};
  request.settings = {{"model", "vit5_tiny"}, {"precision", "fp32"}};
  return request;
}

TEST(TrainJobsTest, DefaultsDoNotChangeTheId) {
  TrainRequest request = Request();
  const std::string id = (*MakeTrainJobs(request))[0].job_id();
  request.settings["accumulation"] = "1";
  request.settings["mixing"] = "";
  EXPECT_EQ((*MakeTrainJobs(request))[0].job_id(), id);
  request.settings["accumulation"] = "2";
  EXPECT_NE((*MakeTrainJobs(request))[0].job_id(), id);
}

TEST(TrainJobsTest, SweepsMultiplyAndLibrariesStandSideBySide) {
  TrainRequest request = Request();
  request.libraries = {kTrainLibrary, "torch_eager"};
  request.sweep = "precision=fp32,bf16;batch_size=8,16";
  const std::vector<Job> jobs = *MakeTrainJobs(request);
  ASSERT_EQ(jobs.size(), 8);
  EXPECT_EQ(jobs[0].library(), "feedrate");
  EXPECT_EQ(jobs[1].library(), "torch_eager");
  EXPECT_EQ(jobs[1].batch_size(), 8);
  EXPECT_EQ(jobs[2].batch_size(), 16);
  EXPECT_EQ(jobs[7].settings().at("precision"), "bf16");
  EXPECT_EQ(jobs[0].settings().at("precision"), "fp32");
}

TEST(TrainJobsTest, SeveralProcessesBringOneAlong) {
  TrainRequest request = Request();
  request.settings["world_size"] = "2";
  const std::vector<Job> jobs = *MakeTrainJobs(request);
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(jobs[0].settings().count("world_size"), 0);
  EXPECT_EQ(TrainSettingsOf(jobs[1])->world_size, 2);
}

TEST(TrainJobsTest, WordsAreForOneProcess) {
  TrainRequest request = Request();
  request.settings["world_size"] = "2";
  request.settings["warmup"] = "5";
  const Job job = (*MakeTrainJobs(request))[1];
  const std::vector<std::string> words = TrainSettingsOf(job)->words;
  EXPECT_THAT(words, Contains("warmup=5"));
  EXPECT_THAT(words, Contains("batch_size=32"));
  EXPECT_THAT(words, Not(Contains(HasSubstr("world_size"))));
}

std::string Mistake(const TrainRequest& request) {
  const auto jobs = MakeTrainJobs(request);
  return jobs.ok() ? "" : std::string(jobs.status().message());
}

TEST(TrainJobsTest, MistakesAreNamed) {
  TrainRequest request = Request();
  request.settings["model"] = "vit5_smal";
  EXPECT_THAT(Mistake(request), HasSubstr("did you mean \"vit5_small\"?"));
  request = Request();
  request.settings["precision"] = "fp8";
  EXPECT_THAT(Mistake(request), HasSubstr("--precision: \"fp8\""));
  request = Request();
  request.settings["steps"] = "0";
  EXPECT_THAT(Mistake(request), HasSubstr("--steps"));
  request = Request();
  request.settings["graphs"] = "1";
  EXPECT_THAT(Mistake(request), HasSubstr("--device=cuda"));
  request = Request();
  request.sweep = "prefetch=1,2";
  EXPECT_THAT(Mistake(request), HasSubstr("\"prefetch\" is unknown"));
  request = Request();
  request.settings["model"] = "byte_lm_tiny";
  request.settings["mixing"] = "mixup";
  EXPECT_THAT(Mistake(request), HasSubstr("--mixing"));
  request = Request();
  request.batch_size = 0;
  EXPECT_THAT(Mistake(request), HasSubstr("--batch_size"));
}

TEST(TrainJobsTest, EndToEndNeedsALoader) {
  TrainRequest request = Request();
  request.scope = "e2e";
  EXPECT_THAT(Mistake(request), HasSubstr("needs a --loader"));
  request.settings["loader"] = "native";
  request.workers = 2;
  request.datasets = {"val"};
  request.settings["epochs"] = "1";
  const Job job = (*MakeTrainJobs(request))[0];
  EXPECT_EQ(job.dataset(), "val");
  EXPECT_THAT(TrainSettingsOf(job)->words, Contains("workers=2"));
  EXPECT_THAT(TrainSettingsOf(job)->words, Contains("loader=native"));
  request.scope = "synthetic";
  EXPECT_THAT(Mistake(request), HasSubstr("scope synthetic has neither"));
}

TEST(TrainJobsTest, EveryLoaderReadsEveryFolder) {
  TrainRequest request = Request();
  request.scope = "e2e";
  request.datasets = {"nvme", "nfs"};
  request.sweep = "loader=native,torchvision,dali";
  const std::vector<Job> jobs = *MakeTrainJobs(request);
  ASSERT_EQ(jobs.size(), 6);
  EXPECT_EQ(jobs[1].dataset(), "nfs");
  EXPECT_EQ(jobs[1].settings().at("loader"), "native");
  EXPECT_EQ(jobs[5].settings().at("loader"), "dali");
}

TEST(TrainJobsTest, SettingsAreLaidOverPlannedJobs) {
  const std::vector<Job> planned = *MakeTrainJobs(Request());
  const std::vector<Job> jobs =
      *WithSettings(planned, {{"warmup", "3"}, {"world_size", "2"}});
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(TrainSettingsOf(jobs[0])->world_size, 1);
  EXPECT_EQ(TrainSettingsOf(jobs[1])->world_size, 2);
  EXPECT_EQ(TrainSettingsOf(jobs[1])->warmup, 3);
  EXPECT_NE(jobs[0].job_id(), planned[0].job_id());
  EXPECT_FALSE(WithSettings(planned, {{"warmup", "many"}}).ok());
}

TEST(TrainJobsTest, AMixtureFeedsFrames) {
  TrainRequest request = Request();
  request.scope = "e2e";
  request.datasets = {"episodes"};
  request.settings["loader"] = "mixture";
  request.settings["mixture"] = "queue_depth=8;metadata=full";
  const Job job = (*MakeTrainJobs(request))[0];
  EXPECT_THAT(TrainSettingsOf(job)->words,
              Contains("mixture=queue_depth=8;metadata=full"));
  request.settings["epochs"] = "1";
  EXPECT_THAT(Mistake(request), HasSubstr("a mixture has no end"));
  request.settings.erase("epochs");
  request.batch_size = 3;
  EXPECT_THAT(Mistake(request), HasSubstr("even number"));
  request.batch_size = 4;
  request.settings["loader"] = "native";
  EXPECT_THAT(Mistake(request), HasSubstr("--loader=mixture"));
}

TEST(TrainJobsTest, NoSuchFileOfJobs) {
  EXPECT_FALSE(ReadTrainJobs("nowhere.jsonl").ok());
}

}  // namespace
}  // namespace feedrate
