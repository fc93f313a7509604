#include "lib/runner/train/train_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A step of 3.631 s in the median and 4.001 s in the mean.
Row SlowStep() {
  Row row;
  row.set_status("ok");
  row.set_library("feedrate");
  row.set_device("cpu");
  row.set_scope("synthetic");
  row.set_batch_size(8);
  Train& train = *row.mutable_train();
  train.set_model("vit5_small");
  train.set_precision("fp32");
  train.set_loader("synthetic");
  train.set_world_size(1);
  train.set_step_time_mean(4.0011);
  train.set_step_time_p50(3.631);
  train.set_samples_per_sec_mean(8 / 4.0011);
  train.set_mfu_exact(0.05);
  train.set_peak_tflops(0.4);
  train.set_peak_source("measured");
  train.set_bound_by("compute");
  StepBudget& budget = *train.mutable_budget();
  budget.set_forward_s(0.3504);
  budget.set_loss_s(0.0203);
  budget.set_backward_s(3.3302);
  budget.set_optimizer_s(0.2999);
  budget.set_other_s(0.0002);
  budget.set_unattributed_s(0.0001);
  return row;
}

StepKernel Kernel(const std::string& part, const std::string& name,
                  const std::string& shapes, double step_s, double share) {
  StepKernel kernel;
  kernel.set_part(part);
  kernel.set_name(name);
  kernel.set_shapes(shapes);
  kernel.set_step_s(step_s);
  kernel.set_calls(12);
  kernel.set_share(share);
  return kernel;
}

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(TrainTableTest, PrintedPartsAddUpToThePrintedStep) {
  const std::string table = TrainTable({SlowStep()});
  std::istringstream in(table);
  std::string title, units, header, rule, line;
  std::getline(in, title);
  std::getline(in, units);
  std::getline(in, header);
  std::getline(in, rule);
  std::getline(in, line);
  EXPECT_EQ(title,
            "library feedrate, model vit5_small, batch 8, precision fp32");
  EXPECT_THAT(units, HasSubstr("0.400 TFLOP/s (measured) for fp32 on cpu"));
  // Parts that take no time have no column.
  EXPECT_THAT(header, Not(HasSubstr("copy")));
  EXPECT_THAT(header, Not(HasSubstr("data wait")));
  const std::vector<std::string> cells = Words(line);
  ASSERT_GE(cells.size(), 7);
  EXPECT_EQ(cells[1], "4001");
  double sum = 0;
  for (size_t i = 2; i < 6; ++i) sum += std::stod(cells[i]);
  EXPECT_EQ(sum, 4001) << line;
}

TEST(TrainTableTest, WhatDiffersHasAColumn) {
  Row failed;
  failed.set_status("oom");
  Row half = SlowStep();
  half.mutable_train()->set_precision("bf16");
  half.mutable_train()->set_step_time_mean(1);
  const std::string table = TrainTable({SlowStep(), failed, half});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 6);
  EXPECT_THAT(table, HasSubstr("precision  samples/s"));
  EXPECT_THAT(table, HasSubstr("for bf16 on cpu"));
  EXPECT_EQ(TrainTable({failed}), "");
}

// Lines of a sweep are told apart; a value that rows leave out is the usual
// one.
TEST(TrainTableTest, SweptSettingsHaveColumns) {
  Row usual = SlowStep();
  usual.set_scope("e2e");
  usual.mutable_train()->set_loader("dali");
  (*usual.mutable_settings())["clip_norm"] = "1";
  Row whole = usual;
  (*whole.mutable_settings())["fused_decode"] = "0";
  Row late = usual;
  (*late.mutable_settings())["prefetch"] = "2";
  for (const std::string& table :
       {TrainTable({usual, whole, late}), LoaderTable({usual, whole, late})}) {
    EXPECT_THAT(table, HasSubstr("fused_decode  prefetch  "));
    EXPECT_THAT(table, HasSubstr("0             0         "));
    EXPECT_THAT(table, HasSubstr("–             2         "));
    EXPECT_THAT(table, Not(HasSubstr("clip_norm")));
  }
}

TEST(LadderTableTest, SpeedUpsAreRelativeToASetting) {
  Row slow = SlowStep();
  slow.set_job_id("slow");
  slow.mutable_train()->set_samples_per_sec_mean(100);
  slow.mutable_train()->set_engine("eager");
  Row half = slow;
  half.set_job_id("half");
  half.mutable_train()->set_precision("bf16");
  half.mutable_train()->set_samples_per_sec_mean(200);
  Row fused = half;
  fused.set_job_id("fused");
  fused.mutable_train()->set_engine("fused");
  fused.mutable_train()->set_samples_per_sec_mean(500);
  Row again = fused;
  again.set_run_index(1);
  again.mutable_train()->set_samples_per_sec_mean(700);
  const std::string table =
      LadderTable({slow, half, fused, again}, "precision=fp32");
  EXPECT_THAT(table, HasSubstr("engine  precision  samples/s  speed-up"));
  EXPECT_THAT(table, HasSubstr("1.00x"));
  EXPECT_THAT(table, HasSubstr("2.00x          2.00x"));
  EXPECT_THAT(table, HasSubstr("6.00x          3.00x"));
  EXPECT_THAT(LadderTable({slow, half}, "precision=fp16"),
              HasSubstr("no training that is ok has precision=fp16"));
}

TEST(LoaderTableTest, HasLoaderStorageAndSkippedFiles) {
  Row row = SlowStep();
  EXPECT_EQ(LoaderTable({row}), "");
  row.set_scope("e2e");
  row.mutable_dataset()->set_files(24);
  row.mutable_train()->set_loader("dali");
  row.mutable_train()->set_storage("ext4, 900 MB/s, 100% cached");
  row.mutable_train()->set_skipped_files(7);
  const std::string table = LoaderTable({row});
  EXPECT_THAT(table, HasSubstr("files  skipped"));
  EXPECT_THAT(table, HasSubstr("dali"));
  EXPECT_THAT(table, HasSubstr("ext4, 900 MB/s, 100% cached"));
  EXPECT_THAT(table, HasSubstr("   24        7"));
  Row other = row;
  other.mutable_train()->set_loader("native");
  EXPECT_THAT(TrainTable({row, other}), HasSubstr("loader  samples/s"));
}

TEST(KernelTableTest, SplitsPartsAndSaysOverHowManySteps) {
  Train train;
  EXPECT_EQ(KernelTable(train), "");
  train.set_profiled_steps(3);
  *train.add_kernels() = Kernel("backward", "aten::mm", "64x8, 8x64", 2, 0.6);
  *train.add_kernels() = Kernel("forward", "aten::addmm", "8x64", 0.2, 0.5);
  *train.add_kernels() = Kernel("backward", "aten::mul", "8x8", 0.1, 0.03);
  const std::string table = KernelTable(train);
  EXPECT_THAT(table, HasSubstr("mean of 3 profiled steps"));
  EXPECT_THAT(table, HasSubstr("64x8, 8x64"));
  EXPECT_LT(table.find("aten::mul"), table.find("aten::addmm"));
  train.mutable_kernels(0)->set_name(
      "aten::_scaled_dot_product_flash_attention_for_cpu_backward");
  EXPECT_THAT(KernelTable(train),
              HasSubstr("aten::_scaled_dot_product_flas...cpu_backward  64x8"));
}

TEST(ValidationTableTest, HasALinePerValidation) {
  Row row = SlowStep();
  EXPECT_EQ(ValidationTable({row}), "");
  for (const int step : {10, 20}) {
    Validation* const validation = row.mutable_train()->add_validations();
    validation->set_step(step);
    validation->set_images(50);
    validation->set_loss(1.25);
    validation->set_top1(62);
    validation->set_top5(98);
  }
  const std::string table = ValidationTable({row});
  EXPECT_THAT(table, HasSubstr("batch 8    10      50"));
  EXPECT_THAT(table, HasSubstr("batch 8    20      50  1.250  62.0%  98.0%"));
  Validation* const last = row.mutable_train()->mutable_validations(1);
  last->set_ema_loss(0.75);
  last->set_ema_top1(75);
  last->set_ema_top5(99);
  EXPECT_THAT(
      ValidationTable({row}),
      HasSubstr("batch 8, averages    20      50  0.7500  75.0%  99.0%"));
  row.mutable_train()->mutable_validations(1)->set_skipped(3);
  EXPECT_THAT(ValidationTable({row}), HasSubstr("  50, 3 skipped  "));
}

TEST(ConclusionTest, NamesTheLargestPartAndItsKernel) {
  Row row = SlowStep();
  EXPECT_EQ(Conclusion(row),
            "feedrate vit5_small fp32 batch 8 is compute-bound: backward is "
            "83.2% of the step, 9.5 times forward");
  Row other = row;
  other.set_run_index(1);
  other.mutable_train()->set_world_size(2);
  EXPECT_THAT(Conclusion(other),
              HasSubstr("batch 8 on 2 processes, run 2, is compute-bound"));
  Train& train = *row.mutable_train();
  *train.add_kernels() = Kernel("forward", "aten::addmm", "1x1", 9, 0.9);
  *train.add_kernels() = Kernel("backward", "aten::mm", "2x2", 2, 0.4);
  *train.add_kernels() = Kernel("backward", "aten::mm", "3x3", 1, 0.2);
  *train.add_kernels() = Kernel("backward", "aten::mul", "4x4", 1, 0.3);
  EXPECT_THAT(Conclusion(row),
              HasSubstr("9.5 times forward, mostly aten::mm (60.0% of it)"));
  train.mutable_kernels(2)->set_share(0.05);
  EXPECT_THAT(Conclusion(row), HasSubstr("longest kernel aten::mm (45.0%"));
}

TEST(ConclusionTest, ALoaderThatIsWaitedForIsNamed) {
  Row row = SlowStep();
  row.set_scope("e2e");
  Train& train = *row.mutable_train();
  train.set_loader("native");
  train.set_bound_by("loader");
  train.set_data_wait_share(0.25);
  train.mutable_budget()->set_data_wait_s(1);
  EXPECT_THAT(Conclusion(row),
              HasSubstr("batch 8 loader native is loader-bound: data wait is "
                        "25.0% of the step, backward is 83.2%"));
}

TEST(TrainTableTest, WaysToRunASubjectAreToldApart) {
  Row eager = SlowStep();
  eager.set_library("my.model:build");
  eager.mutable_train()->set_model("my.model:build");
  eager.mutable_train()->set_engine("eager");
  Row compiled = eager;
  compiled.mutable_train()->set_engine("compile");
  const std::string table = TrainTable({eager, compiled});
  EXPECT_THAT(table, HasSubstr("\nengine   samples/s"));
  EXPECT_THAT(table, HasSubstr("\ncompile"));
  EXPECT_THAT(TrainTable({eager}), HasSubstr("engine eager, "));
  EXPECT_THAT(TrainTable({SlowStep()}), Not(HasSubstr("engine")));
  EXPECT_THAT(Conclusion(compiled),
              HasSubstr("my.model:build compile fp32 batch 8 is compute"));
}

}  // namespace
}  // namespace feedrate
