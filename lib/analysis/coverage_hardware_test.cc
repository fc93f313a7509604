#include "lib/analysis/coverage_hardware.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_book.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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
  RowBook book(jobs, "");
  Row row;
  row.set_job_id(job.job_id());
  row.set_status("ok");
  row.set_machine_profile(profile);
  row.set_hardware_class(hardware_class);
  row.set_hardware(hardware);
  row.set_env_id("e");
  if (env != nullptr) book.AddEnv(*env);
  book.AddRow(row, 0, "f", 1);
  return HardwareProblem(job, book.runs(0)[0], book, TheCatalogue());
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
  // No other library may.
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

}  // namespace
}  // namespace feedrate
