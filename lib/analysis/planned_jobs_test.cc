#include "lib/analysis/planned_jobs.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/synthetic_rows.h"
#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

Job MakeJob(int batch_size) {
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("pipeline");
  job.set_scope("memory_dataloader_augment");
  job.set_library("kornia");
  job.set_transform("Blur");
  job.set_device("cpu");
  job.set_batch_size(batch_size);
  job.set_hardware_class("cpu");
  (*job.mutable_settings())["prefetch"] = "2";
  (*job.mutable_settings())["pin_memory"] = "1";
  job.add_run_indexes(0);
  job.set_job_id(JobId(job));
  return job;
}

Row MakeRow(const Job& job) { return SyntheticRows({}).MakeRow(job, 0); }

TEST(PlannedJobsTest, AJobTwiceAddsItsRuns) {
  PlannedJobs jobs;
  Job job = MakeJob(256);
  jobs.Add(job);
  job.add_run_indexes(2);
  jobs.Add(job);
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_THAT(jobs.Get(0).run_indexes(), ElementsAre(0, 2));
  EXPECT_EQ(jobs.total_runs(), 2);
  EXPECT_TRUE(jobs.HasRun(0, 2));
  EXPECT_FALSE(jobs.HasRun(0, 1));
  EXPECT_EQ(jobs.Find(job.job_id()), 0);
  EXPECT_EQ(jobs.Find("other"), -1);
}

TEST(PlannedJobsTest, PlannedOnBothKindsOfMachineIsFreeToChoose) {
  PlannedJobs jobs;
  Job job = MakeJob(256);
  job.set_hardware_class("host_cpu");
  jobs.Add(job);
  EXPECT_EQ(jobs.Get(0).hardware_class(), "host_cpu");
  job.set_hardware_class("cpu");
  jobs.Add(job);
  EXPECT_EQ(jobs.Get(0).hardware_class(), "cpu");
}

TEST(PlannedJobsTest, ARowOfTheJobHasNoDifference) {
  PlannedJobs jobs;
  const Job job = MakeJob(256);
  jobs.Add(job);
  EXPECT_EQ(jobs.Difference(0, MakeRow(job)), "");
}

TEST(PlannedJobsTest, DifferencesAreNamed) {
  PlannedJobs jobs;
  const Job job = MakeJob(256);
  jobs.Add(job);
  Row row = MakeRow(job);
  row.set_seed(3);
  row.set_batch_size(128);
  EXPECT_EQ(jobs.Difference(0, row), "batch_size is 128, planned is 256");
  row = MakeRow(job);
  row.set_library("pillow");
  EXPECT_EQ(jobs.Difference(0, row), "library is pillow, planned is kornia");
  row = MakeRow(job);
  (*row.mutable_settings())["prefetch"] = "4";
  EXPECT_EQ(jobs.Difference(0, row),
            "settings is pin_memory=1,prefetch=4, planned is "
            "pin_memory=1,prefetch=2");
}

TEST(PlannedJobsTest, WhatARowLeavesOutIsNotHeldAgainstIt) {
  PlannedJobs jobs;
  const Job job = MakeJob(256);
  jobs.Add(job);
  Row row = MakeRow(job);
  row.clear_thread_policy();
  row.clear_settings();
  EXPECT_EQ(jobs.Difference(0, row), "");
  Row bare;
  bare.set_job_id(job.job_id());
  EXPECT_EQ(jobs.Difference(0, bare), "");
}

TEST(PlannedJobsTest, FindsTheJobThatARowShouldHaveBeenOf) {
  PlannedJobs jobs;
  jobs.Add(MakeJob(256));
  jobs.Add(MakeJob(64));
  EXPECT_EQ(jobs.FindCell(MakeRow(MakeJob(128))), 0);
  EXPECT_EQ(jobs.FindCell(MakeRow(MakeJob(64))), 1);
  Job other = MakeJob(128);
  other.set_transform("Rotate");
  EXPECT_EQ(jobs.FindCell(MakeRow(other)), -1);
}

TEST(PlannedJobsTest, SubjectNamesWhatTellsJobsApart) {
  EXPECT_EQ(Subject(MakeJob(256)),
            "image-rgb pipeline memory_dataloader_augment cpu kornia Blur b256 "
            "pin_memory=1,prefetch=2");
}

}  // namespace
}  // namespace feedrate
