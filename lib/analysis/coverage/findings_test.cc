#include "lib/analysis/coverage/findings.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/records/job.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNull;
using ::testing::Pointee;

Job MakeJob(const std::string& id) {
  Job job;
  job.set_job_id(id);
  job.set_library("kornia");
  job.set_transform(id);
  for (int i = 0; i < 4; ++i) job.add_run_indexes(i);
  job.set_cost_s(8);
  return job;
}

TEST(CoverageFindingsTest, StartsWithoutAny) {
  CoverageFindings findings;
  EXPECT_FALSE(findings.has_errors());
  EXPECT_EQ(findings.total_gaps(), 0);
  EXPECT_THAT(findings.GapsOf(0), IsNull());
}

TEST(CoverageFindingsTest, RunsOfAJobThatSayTheSameAreOne) {
  CoverageFindings findings;
  const Job job = MakeJob("a");
  findings.AddRun(CoverageCode::kFailed, 0, job, 0, "f:1", "status is oom");
  findings.AddRun(CoverageCode::kFailed, 0, job, 1, "f:2", "status is oom");
  findings.AddRun(CoverageCode::kFailed, 0, job, 2, "f:3", "status is failed");
  Coverage record;
  findings.MoveTo(&record);
  ASSERT_EQ(record.findings_size(), 2);
  EXPECT_THAT(record.findings(0).run_indexes(), ElementsAre(0, 1));
  EXPECT_EQ(record.findings(0).place(), "f:1");
  EXPECT_THAT(record.findings(1).run_indexes(), ElementsAre(2));
  EXPECT_EQ(record.counts(0).findings(), 2);
}

TEST(CoverageFindingsTest, OnlyErrorsCountAndOnlyGapsAreMadeAgain) {
  CoverageFindings findings;
  findings.Add(CoverageCode::kFewRuns, "kornia", "", "2 runs");
  EXPECT_FALSE(findings.has_errors());
  findings.AddRun(CoverageCode::kDuplicate, 1, MakeJob("b"), 0, "f:1", "twice");
  EXPECT_TRUE(findings.has_errors());
  EXPECT_THAT(findings.GapsOf(1), IsNull());
  findings.AddRun(CoverageCode::kMissing, 1, MakeJob("b"), 3, "", "no row");
  EXPECT_THAT(findings.GapsOf(1), Pointee(ElementsAre(3)));
  EXPECT_EQ(findings.total_gaps(), 1);
}

TEST(CoverageFindingsTest, RecordsStandInTheOrderOfCodes) {
  CoverageFindings findings;
  findings.Add(CoverageCode::kTornLine, "", "f:9", "torn");
  findings.AddRun(CoverageCode::kMissing, 0, MakeJob("a"), 0, "", "no row");
  Coverage record;
  findings.MoveTo(&record);
  ASSERT_EQ(record.findings_size(), 2);
  EXPECT_EQ(record.findings(0).code(), "missing");
  EXPECT_EQ(record.findings(0).severity(), "error");
  EXPECT_FALSE(record.findings(0).remedy().empty());
  EXPECT_EQ(record.findings(1).code(), "torn_line");
}

TEST(CoverageFindingsTest, FixesHaveOnlyTheRunsThatAreMissing) {
  PlannedJobs jobs;
  jobs.Add(MakeJob("a"));
  jobs.Add(MakeJob("b"));
  CoverageFindings findings;
  findings.AddRun(CoverageCode::kMissing, 1, jobs.Get(1), 3, "", "no row");
  findings.AddRun(CoverageCode::kFailed, 1, jobs.Get(1), 1, "f:1", "oom");
  // Two findings about one run are one gap.
  findings.AddRun(CoverageCode::kZero, 1, jobs.Get(1), 1, "f:1", "0 s");
  std::vector<Job> fixes;
  ASSERT_TRUE(findings
                  .ForEachFix(jobs, /*noisy=*/false,
                              [&](const Job& job) {
                                fixes.push_back(job);
                                return absl::OkStatus();
                              })
                  .ok());
  ASSERT_EQ(fixes.size(), 1u);
  EXPECT_EQ(fixes[0].job_id(), "b");
  EXPECT_THAT(fixes[0].run_indexes(), ElementsAre(1, 3));
  EXPECT_DOUBLE_EQ(fixes[0].cost_s(), 4);
}

Job MakeJob(const std::string& id, const std::string& library) {
  Job job;
  job.set_job_id(id);
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  job.set_device("cpu");
  job.set_library(library);
  return job;
}

TEST(CoverageGroupsTest, CountsEachJobOfItsGroup) {
  CoverageGroups groups;
  CoverageFindings findings;
  JobFlags missing;
  missing.missing = true;
  JobFlags unsupported;
  unsupported.unsupported = true;
  groups.Add(MakeJob("0", "kornia"), {}, 3);
  groups.Add(MakeJob("1", "opencv"), missing, 0);
  groups.Add(MakeJob("2", "kornia"), unsupported, 0);
  groups.Add(MakeJob("3", "kornia"), {}, 3);
  findings.AddRun(CoverageCode::kMissing, 1, MakeJob("1", "opencv"), 0, "",
                  "no row");
  findings.AddRun(CoverageCode::kNoop, 3, MakeJob("3", "kornia"), 0, "f:1",
                  "noop");
  Coverage record;
  groups.WriteTo(findings, &record);
  EXPECT_EQ(record.jobs_complete(), 2);
  ASSERT_EQ(record.groups_size(), 2);
  const CoverageGroup& kornia = record.groups(0);
  EXPECT_EQ(kornia.library(), "kornia");
  EXPECT_EQ(kornia.jobs(), 3);
  EXPECT_EQ(kornia.complete(), 2);
  EXPECT_EQ(kornia.unsupported(), 1);
  // Nothing else explains its gap.
  EXPECT_EQ(kornia.rejected(), 1);
  const CoverageGroup& opencv = record.groups(1);
  EXPECT_EQ(opencv.missing(), 1);
  EXPECT_EQ(opencv.rejected(), 0);
  EXPECT_EQ(opencv.complete(), 0);
}

TEST(CoverageGroupsTest, FewRunsAreOneWarningForEachNumber) {
  CoverageGroups groups;
  groups.Add(MakeJob("0", "kornia"), {}, 1);
  groups.Add(MakeJob("1", "kornia"), {}, 2);
  groups.Add(MakeJob("2", "kornia"), {}, 2);
  groups.Add(MakeJob("3", "kornia"), {}, 3);
  groups.Add(MakeJob("4", "kornia"), {}, 0);
  CoverageFindings findings;
  groups.AddFewRuns(3, &findings);
  EXPECT_FALSE(findings.has_errors());
  Coverage record;
  findings.MoveTo(&record);
  ASSERT_EQ(record.findings_size(), 2);
  EXPECT_EQ(record.findings(0).what(),
            "1 job has only 1 run; under 3 the spread is unknown");
  EXPECT_EQ(record.findings(1).what(),
            "2 jobs have only 2 runs; under 3 the spread is unknown");
}

TEST(CoverageGroupsTest, EnoughRunsAreNoWarning) {
  CoverageGroups groups;
  groups.Add(MakeJob("0", "kornia"), {}, 5);
  CoverageFindings findings;
  groups.AddFewRuns(3, &findings);
  Coverage record;
  findings.MoveTo(&record);
  EXPECT_EQ(record.findings_size(), 0);
}

}  // namespace
}  // namespace feedrate
