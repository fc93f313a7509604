#include "lib/analysis/coverage/checks.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/coverage/findings.h"
#include "lib/analysis/coverage/measured_runs.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/analysis/testing/synthetic_rows.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCpu[] = "xeon-8581c_16c_x86-64";
constexpr char kGpu[] = "l4x1_driver580_cuda13.0_torch2.11_sm89";

const Catalogue& TheCatalogue() {
  static const auto& catalogue = *new Catalogue(*Catalogue::Load("configs"));
  return catalogue;
}

Job MakeJob(const char* scenario, const char* library, const char* device,
            const char* hardware_class) {
  Job job;
  job.set_job_id("0123456789abcdef");
  job.set_scenario(scenario);
  job.set_mode("micro");
  job.set_scope("augmentation_only");
  job.set_library(library);
  job.set_device(device);
  job.set_hardware_class(hardware_class);
  job.add_run_indexes(0);
  return job;
}

std::string Problem(const Job& job, const char* profile,
                    const char* hardware_class, const Env* env = nullptr,
                    const char* hardware = "") {
  PlannedJobs jobs;
  jobs.Add(job);
  MeasuredRuns measured(jobs, "");
  Row row;
  row.set_job_id(job.job_id());
  row.set_status("ok");
  row.set_machine_profile(profile);
  row.set_hardware_class(hardware_class);
  row.set_hardware(hardware);
  row.set_env_id("e");
  if (env != nullptr) measured.AddEnv(*env);
  measured.AddRow(row, 0, "f", 1);
  return HardwareProblem(job, measured.runs(0)[0], measured, TheCatalogue());
}

TEST(CoverageHardwareTest, GpuProfilesNameAComputeCapability) {
  EXPECT_TRUE(IsGpuProfile(kGpu));
  EXPECT_TRUE(IsGpuProfile("h200x1_driver580_cuda13.0_sm90"));
  EXPECT_FALSE(IsGpuProfile(kCpu));
  EXPECT_FALSE(IsGpuProfile("small-box_4c_x86-64"));
  EXPECT_FALSE(IsGpuProfile(""));
}

TEST(CoverageHardwareTest, CpuRowsComeFromCpuMachines) {
  const Job job = MakeJob("image-rgb", "kornia", "cpu", "cpu");
  EXPECT_EQ(Problem(job, kCpu, "cpu"), "");
  EXPECT_THAT(Problem(job, kGpu, "cpu"),
              HasSubstr("a CPU row from a GPU machine (l4x1"));
  EXPECT_THAT(Problem(job, kGpu, "host_cpu"), HasSubstr("GPU machine"));
  EXPECT_THAT(Problem(job, "", "gpu"), HasSubstr("hardware_class is gpu"));
  EXPECT_THAT(Problem(job, "", "cpu", nullptr, "NVIDIA L4"),
              HasSubstr("measured on NVIDIA L4"));
}

TEST(CoverageHardwareTest, GpuRowsComeFromGpuMachines) {
  const Job job = MakeJob("image-rgb", "kornia", "cuda", "gpu");
  EXPECT_EQ(Problem(job, kGpu, "gpu"), "");
  EXPECT_THAT(Problem(job, kCpu, "gpu"), HasSubstr("without a GPU"));
  EXPECT_THAT(Problem(job, kGpu, "cpu"), HasSubstr("planned is gpu"));
}

TEST(CoverageHardwareTest, ClipsOfAlbumentationsXMayUseTheHostsCpu) {
  const Job job = MakeJob("video-16f", "albumentationsx", "cpu", "cpu");
  EXPECT_EQ(Problem(job, kCpu, "cpu"), "");
  EXPECT_EQ(Problem(job, kGpu, "host_cpu"), "");
  EXPECT_THAT(Problem(job, kGpu, "cpu"), HasSubstr("not called host_cpu"));
  EXPECT_THAT(Problem(job, kCpu, "host_cpu"), HasSubstr("without a GPU"));
  // No other library may run there.
  const Job kornia = MakeJob("video-16f", "kornia", "cpu", "cpu");
  EXPECT_THAT(Problem(kornia, kGpu, "host_cpu"), HasSubstr("GPU machine"));
}

TEST(CoverageHardwareTest, APlanForTheHostIsNotForACpuMachine) {
  const Job job = MakeJob("video-16f", "albumentationsx", "cpu", "host_cpu");
  EXPECT_EQ(Problem(job, kGpu, "host_cpu"), "");
  EXPECT_THAT(Problem(job, kCpu, "cpu"), HasSubstr("without a GPU"));
}

TEST(CoverageHardwareTest, TheEnvRecordOutweighsTheProfile) {
  const Job job = MakeJob("image-rgb", "kornia", "cpu", "cpu");
  Env env;
  env.set_env_id("e");
  env.add_gpus()->set_name("NVIDIA L4");
  EXPECT_THAT(Problem(job, kCpu, "cpu", &env), HasSubstr("GPU machine"));
}

TEST(CoverageHardwareTest, NothingKnownIsNothingWrong) {
  const Job job = MakeJob("image-rgb", "kornia", "cpu", "cpu");
  EXPECT_EQ(Problem(job, "", ""), "");
}

Row MicroRow() {
  Row row;
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_device("cpu");
  row.set_transform("Blur");
  row.mutable_dataset()->set_files(10);
  row.mutable_dataset()->set_bytes(1000);
  return row;
}

TEST(CoverageHardwareTest, ItemsAreAtLeastTheirFiles) {
  Row row = MicroRow();
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 100);
  row.set_scenario("image-9ch");
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 300);
  row.set_mode("pipeline");
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 224 * 224 * 9);
  row.set_scenario("video-16f");
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 224 * 224 * 3 * 16);
}

TEST(CoverageHardwareTest, NothingIsSaidOfWhatIsNotKnown) {
  Row row = MicroRow();
  row.mutable_dataset()->set_bytes(0);
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 0);
  row = MicroRow();
  row.set_transform("RandomCrop128");
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 0);
  row = MicroRow();
  row.set_device("cuda");
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 0);
  row = MicroRow();
  row.set_scenario("video-16f");
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 0);
  row.set_scenario("no such");
  EXPECT_EQ(LeastItemBytes(row, TheCatalogue()), 0);
}

TEST(CoverageHardwareTest, ThreadsAreThoseThatThePolicyAllows) {
  Job job = MakeJob("image-rgb", "kornia", "cpu", "cpu");
  job.set_thread_policy("micro-single");
  EXPECT_EQ(ThreadsOf(job, nullptr, TheCatalogue()), 1);
  job.set_thread_policy("pipeline-single-worker");
  job.set_workers(8);
  EXPECT_EQ(ThreadsOf(job, nullptr, TheCatalogue()), 8);
  job.set_thread_policy("pipeline-default");
  EXPECT_EQ(ThreadsOf(job, nullptr, TheCatalogue()), 0);
  const MachineFacts machine = {false, 16};
  EXPECT_EQ(ThreadsOf(job, &machine, TheCatalogue()), 16);
}

// Plans only the jobs that a test needs, out of the full-paper profile.
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

  // Plans the job with these names, and makes rows for all its runs.
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
      SyntheticRowOptions options;
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
    MeasuredRuns measured(jobs_, "");
    const SyntheticRows maker({});
    for (const auto& run : maker.Runs()) measured.AddRun(run);
    for (const Env& env : maker.Envs()) measured.AddEnv(env);
    int64_t line = 0;
    for (const Row& row : rows_) {
      measured.AddRow(row, LeastItemBytes(row, TheCatalogue()), "rows.jsonl",
                      ++line);
    }
    CoverageFindings findings;
    record_.Clear();
    JudgeCoverage(jobs_, measured, TheCatalogue(), &findings, &record_);
    for (const bool noisy : {false, true}) {
      std::vector<Job>& jobs = noisy ? noisy_ : fixes_;
      jobs.clear();
      EXPECT_TRUE(findings
                      .ForEachFix(jobs_, noisy,
                                  [&](const Job& job) {
                                    jobs.push_back(job);
                                    return absl::OkStatus();
                                  })
                      .ok());
    }
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
  std::vector<Job> noisy_;
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
  // Repeating the run would not help.
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

TEST_F(CoverageJudgeTest, PlannedOnBothKindsOfMachineIsOwedOnBoth) {
  Plan("video-16f", "micro", "cpu", "albumentationsx", "HorizontalFlip");
  Job on_host = jobs_.Get(0);
  on_host.set_hardware_class("host_cpu");
  jobs_.Add(on_host);
  EXPECT_THAT(Codes(), ElementsAre("missing"));
  ASSERT_EQ(record_.groups_size(), 2);
  EXPECT_EQ(record_.groups(0).complete(), 1);
  EXPECT_EQ(record_.groups(1).device(), "host_cpu");
  EXPECT_EQ(record_.groups(1).missing(), 1);
  ASSERT_EQ(fixes_.size(), 1);
  EXPECT_EQ(fixes_[0].hardware_class(), "host_cpu");
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

TEST_F(CoverageJudgeTest, NoisyRunsAreCountedAndCanBeMeasuredAgain) {
  PlanBlur();
  rows_[0].add_warnings("migrated");
  EXPECT_THAT(Codes(), IsEmpty());
  rows_[1].add_warnings("contended");
  rows_[2].add_warnings("contended");
  rows_[2].add_warnings("noisy");
  EXPECT_THAT(Codes(), ElementsAre("noisy"));
  EXPECT_EQ(record_.jobs_complete(), 1);
  EXPECT_EQ(record_.disturbed_runs(), 2);
  EXPECT_EQ(record_.disturbances().at("contended"), 2);
  EXPECT_EQ(record_.disturbances().at("noisy"), 1);
  EXPECT_EQ(record_.groups(0).noisy(), 1);
  EXPECT_THAT(fixes_, IsEmpty());
  ASSERT_EQ(noisy_.size(), 1);
  EXPECT_THAT(noisy_[0].run_indexes(), ElementsAre(1, 2));
  // A clean attempt settles it, whichever comes last.
  Row again = rows_[1];
  again.clear_warnings();
  rows_.push_back(again);
  EXPECT_THAT(Codes(), ElementsAre("noisy"));
  EXPECT_EQ(record_.disturbed_runs(), 1);
  EXPECT_EQ(record_.replaced_rows(), 1);
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

// A sweep beside the main rows is not an error; a mistyped setting is
// explained.
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
  // Just above what the policy allows fails; just below passes.
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
  // 110 kB per file, 12 GB/s, a factor of two allowed: 218,182 images per
  // second.
  rows_[0].set_throughput(210000);
  EXPECT_THAT(Codes(), IsEmpty());
  rows_[0].set_throughput(220000);
  EXPECT_THAT(Codes(), ElementsAre("above_copy"));
  EXPECT_THAT(record_.findings(0).what(),
              HasSubstr("of at least 1.1e+05 bytes are 24.2 GB/s; the run "
                        "copies 12 GB/s in a thread and may use 1"));
  // A copy beside other load is slower than the machine.
  rows_[1].add_warnings("contended");
  EXPECT_THAT(Codes(), ElementsAre("noisy"));
  EXPECT_EQ(record_.rows_without_copy_limit(), 3);
  rows_[1].clear_warnings();
  // Without the `run` record there is no limit.
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
