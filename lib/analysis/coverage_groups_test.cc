#include "lib/analysis/coverage_groups.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/analysis/coverage_codes.h"
#include "lib/analysis/coverage_findings.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

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
  // Its gap is explained by nothing else.
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
