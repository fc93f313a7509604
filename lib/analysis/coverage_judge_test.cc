#include "lib/analysis/coverage_judge.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/coverage_findings.h"
#include "lib/analysis/coverage_hardware.h"
#include "lib/analysis/coverage_plan.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_book.h"
#include "lib/analysis/synthetic_rows.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Catalogue& TheCatalogue() {
  static const auto& catalogue = *new Catalogue(*Catalogue::Load("configs"));
  return catalogue;
}

// Plans as few jobs as a test needs, out of the whole paper.
class CoverageJudgeTest : public ::testing::Test {
 protected:
  static const std::vector<Job>& Paper() {
    static const auto& jobs = *[] {
      CoveragePlanOptions options;
      options.profile = "configs/coverage/full_paper.textproto";
      options.num_runs = 3;
      const auto planned = LoadCoveragePlan(options, TheCatalogue());
      auto* all = new std::vector<Job>;
      for (int i = 0; i < planned->size(); ++i) all->push_back(planned->Get(i));
      return all;
    }();
    return jobs;
  }

  // Plans the job of these names, with rows for all its runs.
  int Plan(const std::string& scenario, const std::string& mode,
           const std::string& device, const std::string& library,
           const std::string& transform) {
    for (const Job& job : Paper()) {
      if (job.scenario() != scenario || job.mode() != mode ||
          job.device() != device || job.library() != library ||
          job.transform() != transform ||
          job.scope() == "decode_dataloader_augment") {
        continue;
      }
      jobs_.Add(job);
      SyntheticOptions options;
      options.early_stopped = 0;
      for (const Row& row : SyntheticRows(options).MakeRows(job)) {
        rows_.push_back(row);
      }
      return jobs_.size() - 1;
    }
    ADD_FAILURE() << "no such job: " << transform;
    return -1;
  }

  int PlanBlur() { return Plan("image-rgb", "micro", "cpu", "kornia", "Blur"); }

  const Coverage& Judge() {
    RowBook book(jobs_, "");
    const SyntheticRows maker({});
    for (const auto& run : maker.Runs()) book.AddRun(run);
    for (const Env& env : maker.Envs()) book.AddEnv(env);
    int64_t line = 0;
    for (const Row& row : rows_) {
      book.AddRow(row, LeastItemBytes(row, TheCatalogue()), "rows.jsonl",
                  ++line);
    }
    CoverageFindings findings;
    record_.Clear();
    JudgeCoverage(jobs_, book, TheCatalogue(), &findings, &record_);
    fixes_.clear();
    EXPECT_TRUE(findings
                    .ForEachFix(jobs_,
                                [&](const Job& job) {
                                  fixes_.push_back(job);
                                  return absl::OkStatus();
                                })
                    .ok());
    findings.MoveTo(&record_);
    return record_;
  }

  std::vector<std::string> Codes() {
    std::vector<std::string> codes;
    for (const CoverageCount& count : Judge().counts()) {
      codes.push_back(count.code());
    }
    return codes;
  }

  PlannedJobs jobs_;
  std::vector<Row> rows_;
  Coverage record_;
  std::vector<Job> fixes_;
};

TEST_F(CoverageJudgeTest, ThreeRunsAreCompleteWithoutAWarning) {
  PlanBlur();
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(record_.jobs_complete(), 1);
  EXPECT_EQ(record_.runs_complete(), 3);
}

TEST_F(CoverageJudgeTest, FindingsSayPlaceWhatAndRemedy) {
  PlanBlur();
  rows_[1].set_status("timeout");
  rows_[1].set_reason("600 s");
  rows_[1].set_attempt(2);
  EXPECT_THAT(Codes(), ElementsAre("failed", "few_runs"));
  const CoverageFinding& finding = record_.findings(0);
  EXPECT_EQ(finding.place(), "rows.jsonl:2");
  EXPECT_EQ(finding.subject(),
            "image-rgb micro augmentation_only cpu kornia Blur");
  EXPECT_EQ(finding.what(), "status is timeout after 3 attempts: 600 s");
  EXPECT_THAT(finding.remedy(), HasSubstr("--fix=jobs"));
  EXPECT_THAT(finding.run_indexes(), ElementsAre(1));
}

TEST_F(CoverageJudgeTest, AFixHasTheMissingRunsAndTheirShareOfTheCost) {
  PlanBlur();
  rows_.erase(rows_.begin());
  Judge();
  ASSERT_EQ(fixes_.size(), 1);
  EXPECT_THAT(fixes_[0].run_indexes(), ElementsAre(0));
  EXPECT_DOUBLE_EQ(fixes_[0].cost_s(), jobs_.Get(0).cost_s() / 3);
  EXPECT_EQ(fixes_[0].job_id(), jobs_.Get(0).job_id());
}

TEST_F(CoverageJudgeTest, EarlyStopAnswersForRunsThatNobodyMade) {
  PlanBlur();
  rows_.resize(1);
  rows_[0].set_status("early_stopped");
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(record_.groups(0).early_stopped(), 1);
}

TEST_F(CoverageJudgeTest, RunsBeyondThePlanAreNobodysBusiness) {
  PlanBlur();
  Row extra = rows_[0];
  extra.set_run_index(17);
  extra.set_status("failed");
  rows_.push_back(extra);
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(record_.runs_complete(), 3);
}

TEST_F(CoverageJudgeTest, TheMatrixDecidesWhatIsUnsupported) {
  Plan("image-rgb", "micro", "cuda", "kornia", "Affine");
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(record_.groups(0).unsupported(), 1);
  for (Row& row : rows_) {
    row.set_status("ok");
    row.set_items(1);
    row.set_elapsed_s(1.25 + row.run_index());
    row.set_throughput(1 / row.elapsed_s());
    row.set_machine_profile("l4x1_driver580_cuda13.0_sm89");
  }
  EXPECT_THAT(Codes(), ElementsAre("supported"));
  EXPECT_THAT(record_.findings(0).what(),
              HasSubstr("Kornia leaves the parameters on the CPU"));
  // Measuring again would not help.
  EXPECT_THAT(fixes_, IsEmpty());
}

TEST_F(CoverageJudgeTest, VideoOnTheHostsCpuIsRight) {
  Plan("video-16f", "micro", "cpu", "albumentationsx", "HorizontalFlip");
  for (Row& row : rows_) {
    row.set_hardware_class("host_cpu");
    row.set_machine_profile("l4x1_driver580_cuda13.0_torch2.11_sm89");
    row.set_env_id("00000000000000f2");
  }
  EXPECT_THAT(Codes(), IsEmpty());
  for (Row& row : rows_) row.set_hardware_class("cpu");
  EXPECT_THAT(Codes(), ElementsAre("wrong_hardware"));
}

TEST_F(CoverageJudgeTest, RowsOfBothKindsOfMachineAreNotMixed) {
  Plan("video-16f", "micro", "cpu", "albumentationsx", "HorizontalFlip");
  const std::vector<Row> on_cpu_machine = rows_;
  for (Row row : on_cpu_machine) {
    row.set_hardware_class("host_cpu");
    row.set_machine_profile("l4x1_driver580_cuda13.0_torch2.11_sm89");
    row.set_env_id("00000000000000f2");
    row.set_throughput(row.throughput() * 1.01);
    rows_.push_back(row);
  }
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(CoverageJudgeTest, DuplicatesWithOtherSettingsAreErrors) {
  PlanBlur();
  Row other = rows_[0];
  other.set_library_version("2.0");
  rows_.push_back(other);
  const std::vector<std::string> codes = Codes();
  EXPECT_THAT(codes, ::testing::Contains("duplicate"));
  EXPECT_THAT(record_.findings(0).what(),
              "2 rows of one attempt differ in library_version (1.0, 2.0)");
}

TEST_F(CoverageJudgeTest, CopiesAreAWarning) {
  PlanBlur();
  rows_.push_back(rows_[0]);
  EXPECT_THAT(Codes(), ElementsAre("repeated"));
  EXPECT_THAT(record_.findings(0).what(), HasSubstr("copies of each other"));
}

TEST_F(CoverageJudgeTest, RunsWithDifferentVersionsAreMixed) {
  PlanBlur();
  rows_[2].set_library_version("2.0");
  EXPECT_THAT(Codes(), ElementsAre("mixed"));
}

TEST_F(CoverageJudgeTest, StrayBatchesAreFound) {
  Plan("image-rgb", "pipeline", "cpu", "kornia", "Blur");
  Row stray = rows_[0];
  stray.set_job_id("0123456789abcdef");
  stray.set_batch_size(128);
  rows_.push_back(stray);
  EXPECT_THAT(Codes(), ElementsAre("batch_size"));
  EXPECT_EQ(record_.findings(0).what(),
            "1 row of no planned job: batch_size is 128, planned is 256");
  EXPECT_THAT(fixes_, IsEmpty());
  rows_.back().add_labels("exploratory");
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(record_.unplanned_rows(), 1);
}

// A sweep beside the main rows is no error; a typing mistake is explained.
TEST_F(CoverageJudgeTest, OtherSettingsOfACellAreAWarning) {
  PlanBlur();
  for (int i = 0; i < 2; ++i) {
    Row other = rows_[i];
    other.set_job_id("0123456789abcdef");
    other.set_num_items(100);
    rows_.push_back(other);
  }
  EXPECT_THAT(Codes(), ElementsAre("other_settings"));
  EXPECT_EQ(record_.findings(0).what(),
            "2 rows of no planned job: num_items is 100, planned is 2000");
}

TEST_F(CoverageJudgeTest, ClipsAreNotMuchFasterThanImages) {
  Plan("image-rgb", "micro", "cpu", "kornia", "Rotate");
  const int clip = Plan("video-16f", "micro", "cpu", "kornia", "Rotate");
  EXPECT_THAT(Codes(), IsEmpty());
  // A bit beyond what the policy believes; just below is fine.
  const double image = rows_[0].throughput();
  for (Row& row : rows_) {
    if (row.scenario() != "video-16f") continue;
    row.set_throughput(image * (row.run_index() == 0 ? 24 : 15) +
                       row.run_index());
  }
  EXPECT_THAT(Codes(), ElementsAre("video_speed"));
  EXPECT_THAT(record_.findings(0).run_indexes(), ElementsAre(0));
  EXPECT_EQ(record_.findings(0).job_id(), jobs_.Get(clip).job_id());
}

TEST_F(CoverageJudgeTest, TheCopyBoundIsExplainedAndLoose) {
  PlanBlur();
  // 110 kB a file, 12 GB/s, twice that believed: 218,182 images a second.
  rows_[0].set_throughput(210000);
  EXPECT_THAT(Codes(), IsEmpty());
  rows_[0].set_throughput(220000);
  EXPECT_THAT(Codes(), ElementsAre("above_copy"));
  EXPECT_THAT(record_.findings(0).what(),
              HasSubstr("of at least 1.1e+05 bytes are 24.2 GB/s; the run "
                        "copies 12 GB/s in a thread and may use 1"));
  // Without the run's record nothing can be said.
  for (Row& row : rows_) row.set_run_id("unknown");
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(record_.rows_without_copy_limit(), 3);
}

TEST_F(CoverageJudgeTest, EqualNumbersAreBlamedOnBoth) {
  PlanBlur();
  Plan("image-rgb", "micro", "cpu", "torchvision", "Rotate");
  rows_[4].set_throughput(rows_[0].throughput());
  EXPECT_THAT(Codes(), ElementsAre("identical"));
  ASSERT_EQ(record_.findings_size(), 2);
  EXPECT_THAT(record_.findings(0).what(),
              HasSubstr("torchvision Rotate run 1"));
  EXPECT_THAT(record_.findings(1).what(), HasSubstr("kornia Blur run 0"));
}

TEST_F(CoverageJudgeTest, GroupsAddUp) {
  PlanBlur();
  Plan("image-rgb", "micro", "cpu", "kornia", "Rotate");
  Plan("image-rgb", "micro", "cpu", "pillow", "Rotate");
  rows_.erase(rows_.begin(), rows_.begin() + 4);
  Judge();
  ASSERT_EQ(record_.groups_size(), 2);
  EXPECT_EQ(record_.groups(0).library(), "kornia");
  EXPECT_EQ(record_.groups(0).jobs(), 2);
  EXPECT_EQ(record_.groups(0).missing(), 1);
  EXPECT_EQ(record_.groups(0).partial(), 1);
  EXPECT_EQ(record_.groups(0).complete(), 0);
  EXPECT_EQ(record_.groups(1).complete(), 1);
  EXPECT_EQ(record_.runs(), 9);
  EXPECT_EQ(record_.runs_complete(), 5);
}

}  // namespace
}  // namespace feedrate
