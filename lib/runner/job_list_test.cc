#include "lib/runner/job_list.h"

#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class JobListTest : public testing::Test {
 protected:
  JobListTest() {
    absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    catalogue_ = std::make_unique<Catalogue>(*std::move(catalogue));
    source_.tool = "micro";
  }

  std::string JobsFile(const std::string& text) {
    const std::string path = testing::TempDir() + "/jobs.jsonl";
    std::ofstream(path) << text;
    return path;
  }

  static std::string JobText(const std::string& scenario,
                             const std::string& mode) {
    Job job;
    job.set_job_id("00000000000000aa");
    job.set_scenario(scenario);
    job.set_mode(mode);
    job.set_dataset("val");
    std::string text;
    AppendRecord(job, &text);
    return text;
  }

  std::string Problem() {
    return std::string(LoadJobList(source_, *catalogue_).status().message());
  }

  std::unique_ptr<Catalogue> catalogue_;
  JobSource source_;
};

TEST_F(JobListTest, PlansFromAConfig) {
  source_.config = "configs/demo.textproto";
  source_.overrides.num_items = 5;
  const auto list = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_GT(list->jobs.size(), 8);
  EXPECT_EQ(list->jobs[0].num_items(), 5);
  EXPECT_EQ(list->config.label(), "demo");
  EXPECT_THAT(list->dataset, HasSubstr("synthetic:"));
}

TEST_F(JobListTest, AFileOfJobsRestrictsAConfig) {
  source_.config = "configs/demo.textproto";
  const auto all = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_GT(all->jobs.size(), 3);
  std::string wanted = JobText("image-rgb", "micro");
  AppendRecord(all->jobs[2], &wanted);
  source_.jobs = JobsFile(wanted);
  const auto some = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(some.ok()) << some.status();
  ASSERT_EQ(some->jobs.size(), 1);
  EXPECT_EQ(some->jobs[0].job_id(), all->jobs[2].job_id());
  EXPECT_EQ(some->config.label(), "demo");

  source_.jobs = JobsFile(JobText("image-rgb", "micro"));
  EXPECT_THAT(Problem(), HasSubstr("is in the plan of --config"));
}

TEST_F(JobListTest, ReadsPlannedJobs) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro") +
                          "{\"schema\":1,\"record\":\"env\"}\n");
  source_.overrides.dataset = "/data/val";
  source_.overrides.label = "x";
  const auto list = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->jobs.size(), 1);
  EXPECT_EQ(list->dataset, "/data/val");
  EXPECT_EQ(list->config.label(), "x");
}

TEST_F(JobListTest, AJobForAnotherProgramNamesIt) {
  source_.jobs = JobsFile(JobText("video-16f", "micro"));
  EXPECT_THAT(Problem(), HasSubstr("not for micro; run it with video"));
  source_.jobs = JobsFile(JobText("image-rgb", "pipeline"));
  EXPECT_THAT(Problem(), HasSubstr("run it with pipeline"));
}

TEST_F(JobListTest, PlannedJobsAreNotChanged) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro"));
  source_.overrides.num_items = 5;
  EXPECT_THAT(Problem(), HasSubstr("--num_items changes a config"));
}

TEST_F(JobListTest, AnotherDataSetIsRefused) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro"));
  source_.overrides.dataset = "/data/train";
  EXPECT_THAT(Problem(), HasSubstr("is for \"val\""));
}

TEST_F(JobListTest, APlanThatWasCutOffIsNone) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro") + "{\"schema\":1,\"re");
  EXPECT_FALSE(LoadJobList(source_, *catalogue_).ok());
  source_.jobs = JobsFile("");
  EXPECT_THAT(Problem(), HasSubstr("no jobs"));
}

}  // namespace
}  // namespace feedrate
