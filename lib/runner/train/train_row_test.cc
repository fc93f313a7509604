#include "lib/runner/train/train_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "lib/json/json.h"
#include "lib/runner/train/train_jobs.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Job SmallJob() {
  Job job;
  job.set_library(kTrainLibrary);
  job.set_scope("synthetic");
  job.set_device("cpu");
  job.set_batch_size(10);
  (*job.mutable_settings())["model"] = "vit5_small";
  return job;
}

TrainReply TwoSteps() {
  TrainReply result;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        version: "2.11.0"
        wall_s: 0.4
        steps_s: [ 0.1, 0.3 ]
        losses: [ 3, 2 ]
        grad_norms: [ 1, 3 ]
        phases { key: "data_wait" value: 0.02 }
        phases { key: "forward" value: 0.06 }
        phases { key: "backward" value: 0.1 }
        phases { key: "optimizer" value: 0.01 }
        phases { key: "other" value: 0.006 }
        matmul_types { key: "fp32" value: 50 }
        memory_peak_bytes: 1000
        matmul_flops: 4e12
        copy_bytes: 1e11
      )pb",
      &result));
  return result;
}

Row RowWith(const Job& job, const TrainDevicePeak& peak = {},
            const std::vector<TrainReply>& results = {TwoSteps()}) {
  Row row;
  row.set_batch_size(job.batch_size());
  row.set_library(job.library());
  row.set_scope(job.scope());
  *row.mutable_settings() = job.settings();
  SetTrainResult(job, *TrainSettingsOf(job), peak, results, &row);
  return row;
}

TEST(TrainRowTest, RatesComeFromSteps) {
  const Row row = RowWith(SmallJob());
  EXPECT_EQ(row.status(), "ok");
  EXPECT_EQ(row.items(), 20);
  EXPECT_DOUBLE_EQ(row.throughput(), 50);
  EXPECT_DOUBLE_EQ(row.train().step_time_p50(), 0.2);
  EXPECT_DOUBLE_EQ(row.train().samples_per_sec_p50(), 50);
  EXPECT_DOUBLE_EQ(row.train().samples_per_sec_p10(), 10 / 0.28);
  EXPECT_DOUBLE_EQ(row.train().tokens_per_sec_p50(), 50 * 201);
}

// The sum of those that told was the energy of all.
TEST(TrainRowTest, EnergyIsOfAllGpusOrAbsent) {
  std::vector<TrainReply> results = {TwoSteps(), TwoSteps()};
  results[0].set_gpu_j(100);
  EXPECT_FALSE(RowWith(SmallJob(), {}, results).energy().has_gpu_j());
  results[1].set_gpu_j(50);
  EXPECT_EQ(RowWith(SmallJob(), {}, results).energy().gpu_j(), 150);
}

TEST(TrainRowTest, OperationsOfASubjectAreCounted) {
  Job job = SmallJob();
  job.set_library("my.model:build");
  job.mutable_settings()->erase("model");
  TrainReply result = TwoSteps();
  result.set_parameters(7);
  result.set_flops_per_step(2e11);
  TrainDevicePeak peak;
  peak.matmul_flops = 4e12;
  peak.copy_bytes = 1e11;
  const Row row = RowWith(job, peak, {result});
  EXPECT_EQ(row.train().model(), "my.model:build");
  EXPECT_EQ(row.train().parameters(), 7);
  EXPECT_EQ(row.train().flops_per_step(), 2e11);
  EXPECT_DOUBLE_EQ(row.train().mfu_exact(), 2e11 / (4e12 * 0.2));
  EXPECT_EQ(row.train().mfu_6nd(), 0);
  EXPECT_EQ(row.train().tokens_per_sec_mean(), 0);
  EXPECT_DOUBLE_EQ(row.limit().throughput(), 10 * 4e12 / 2e11);
}

TEST(TrainRowTest, BudgetAddsUpToTheMeanStep) {
  const StepBudget budget = RowWith(SmallJob()).train().budget();
  const double sum = budget.data_wait_s() + budget.copy_s() +
                     budget.mixing_s() + budget.forward_s() + budget.loss_s() +
                     budget.backward_s() + budget.grad_sync_s() +
                     budget.optimizer_s() + budget.other_s() +
                     budget.unattributed_s();
  EXPECT_NEAR(sum, 0.2, 1e-12);
  EXPECT_NEAR(budget.unattributed_s(), 0.004, 1e-12);
  EXPECT_DOUBLE_EQ(RowWith(SmallJob()).train().data_wait_share(), 0.1);
}

TEST(TrainRowTest, WhatTheProcessToldIsInTheRow) {
  Job job = SmallJob();
  (*job.mutable_settings())["precision"] = "fp16";
  (*job.mutable_settings())["clip_norm"] = "0.5";
  TrainReply result = TwoSteps();
  EXPECT_FALSE(RowWith(job).train().has_skipped_steps());
  result.set_skipped_steps(0);
  result.set_loss_scale(4096);
  result.set_method("eager");
  result.add_validations()->set_top1(50);
  const Train train = RowWith(job, {}, {result}).train();
  EXPECT_EQ(train.skipped_steps(), 0);
  EXPECT_EQ(train.loss_scale(), 4096);
  EXPECT_EQ(train.clip_norm(), 0.5);
  EXPECT_EQ(train.method(), "eager");
  EXPECT_EQ(train.validations(0).top1(), 50);
}

TEST(TrainRowTest, UseIsHeldAgainstTheGivenPeak) {
  TrainDevicePeak peak;
  peak.given_flops = 10e12;
  const Train train = RowWith(SmallJob(), peak).train();
  const double flops = ExactFlops(*ModelNamed("vit5_small"));
  EXPECT_DOUBLE_EQ(train.mfu_exact(), 10 * flops / (10e12 * 0.2));
  EXPECT_EQ(train.peak_source(), "flag");
  EXPECT_GT(train.mfu_transformer_aware(), train.mfu_6nd());
}

TEST(TrainRowTest, PeakIsMeasuredWhereNoneIsKnown) {
  TrainDevicePeak peak;
  peak.matmul_flops = 4e12;
  peak.copy_bytes = 1e11;
  const Train train = RowWith(SmallJob(), peak).train();
  EXPECT_EQ(train.peak_source(), "measured");
  EXPECT_DOUBLE_EQ(train.peak_tflops(), 4);
  EXPECT_GT(train.attainable_mfu(), 0);
  EXPECT_LE(train.attainable_mfu(), 1);
}

// The roofline was the limit, which a CPU with large caches exceeds.
TEST(TrainRowTest, TheLimitIsTheProductsAlone) {
  TrainDevicePeak peak;
  peak.matmul_flops = 4e12;
  const Row row = RowWith(SmallJob(), peak);
  EXPECT_EQ(row.limit().name(), "matmul");
  EXPECT_DOUBLE_EQ(row.limit().throughput(),
                   4e12 / ExactFlops(*ModelNamed("vit5_small")));
  EXPECT_DOUBLE_EQ(row.of_limit(), row.throughput() / row.limit().throughput());
}

TEST(TrainRowTest, LossSlopeIsLeastSquares) {
  EXPECT_DOUBLE_EQ(LeastSquaresSlope({3, 2}), -1);
  EXPECT_DOUBLE_EQ(LeastSquaresSlope({1, 3, 2, 4}), 0.8);
  EXPECT_DOUBLE_EQ(LeastSquaresSlope({5}), 0);
  EXPECT_DOUBLE_EQ(RowWith(SmallJob()).train().loss_slope(), -1);
}

TEST(TrainRowTest, TheSlowestProcessDecides) {
  Job job = SmallJob();
  (*job.mutable_settings())["world_size"] = "2";
  TrainReply slow = TwoSteps();
  slow.set_steps_s(0, 0.2);
  slow.set_steps_s(1, 0.2);
  slow.set_wall_s(0.5);
  slow.set_memory_peak_bytes(2000);
  const Row row = RowWith(job, {}, {TwoSteps(), slow});
  EXPECT_THAT(row.samples_s(), testing::ElementsAre(0.2, 0.3));
  EXPECT_EQ(row.items(), 40);
  EXPECT_DOUBLE_EQ(row.throughput(), 80);
  EXPECT_EQ(row.train().memory_peak_bytes(), 2000);
}

TEST(TrainRowTest, EfficiencyIsAgainstOneProcessOfTheSameRun) {
  const Row alone = RowWith(SmallJob());
  Job job = SmallJob();
  (*job.mutable_settings())["world_size"] = "2";
  Row both = RowWith(job, {}, {TwoSteps(), TwoSteps()});
  CompareWithEarlier({alone}, &both);
  EXPECT_DOUBLE_EQ(both.train().scaling_efficiency(), 1);
  Row other = both;
  other.mutable_train()->clear_scaling_efficiency();
  other.set_batch_size(99);
  CompareWithEarlier({alone}, &other);
  EXPECT_FALSE(other.train().has_scaling_efficiency());
}

TEST(TrainRowTest, Bf16IsHeldAgainstFp32) {
  Job job = SmallJob();
  (*job.mutable_settings())["precision"] = "bf16";
  TrainReply fast = TwoSteps();
  fast.set_steps_s(0, 0.05);
  fast.set_steps_s(1, 0.15);
  fast.set_memory_peak_bytes(500);
  Row row = RowWith(job, {}, {fast});
  CompareWithEarlier({RowWith(SmallJob())}, &row);
  EXPECT_DOUBLE_EQ(row.train().speedup_over_fp32(), 2);
  EXPECT_DOUBLE_EQ(row.train().memory_over_fp32(), 2);
}

TEST(TrainRowTest, MetricsAreFlat) {
  Row row = RowWith(SmallJob());
  row.set_machine_profile("box");
  const std::string json = MetricsJson({row});
  EXPECT_THAT(json, HasSubstr("\"machine_profile\": \"box\""));
  EXPECT_THAT(json, HasSubstr("\"samples_per_sec_p50\": 50"));
  EXPECT_THAT(json, HasSubstr("\"loss_slope\": -1"));
  EXPECT_THAT(json, HasSubstr("\"runs\": 1"));
  EXPECT_THAT(json, HasSubstr("\"disturbed_runs\": 0"));
  // Without a peak there is no MFU, and none is not 0.
  Row unknown = row;
  unknown.mutable_train()->clear_mfu_exact();
  EXPECT_THAT(MetricsJson({unknown}), Not(HasSubstr("mfu")));
}

TEST(TrainRowTest, MetricsSayWhatDisturbedTheirRuns) {
  Row row = RowWith(SmallJob());
  std::vector<Row> runs(3, row);
  runs[0].mutable_train()->set_step_time_p50(3);
  runs[1].mutable_train()->set_step_time_p50(1);
  runs[2].mutable_train()->set_step_time_p50(2);
  runs[1].add_warnings("contended");
  runs[2].add_warnings("noop");
  const std::string json = MetricsJson(runs);
  EXPECT_THAT(json, HasSubstr("\"step_time_p50\": 2.0,"));
  std::string why;
  const Json read = *ParseJson(json, &why);
  EXPECT_EQ(read["of_runs"]["step_time_p50"], Json({3, 1, 2}));
  EXPECT_THAT(json, HasSubstr("\"disturbed_runs\": 1"));
  EXPECT_THAT(json, HasSubstr("\"warnings\": \"contended\""));
}

TEST(TrainRowTest, LoadersStandAgainstStorage) {
  Job job = SmallJob();
  job.set_scope("e2e");
  (*job.mutable_settings())["loader"] = "dali";
  TrainReply fed = TwoSteps();
  fed.set_storage("ext4, 900 MB/s, 0% cached");
  fed.set_files(24);
  const Row row = RowWith(job, {}, {fed});
  EXPECT_EQ(row.train().storage(), fed.storage());
  EXPECT_EQ(row.dataset().files(), 24);
  EXPECT_FALSE(row.has_cache());
}

TEST(TrainRowTest, FilesOfAllProcessesAreCounted) {
  Job job = SmallJob();
  job.set_scope("e2e");
  (*job.mutable_settings())["world_size"] = "2";
  TrainReply first = TwoSteps();
  first.set_storage("ext4");
  first.set_files(12);
  first.set_file_bytes(100);
  first.set_resident(1);
  TrainReply second = first;
  second.set_files(11);
  second.set_resident(0.5);
  second.set_skipped_files(1);
  second.add_skipped()->set_path("cut.jpg");
  const Row row = RowWith(job, {}, {first, second});
  EXPECT_EQ(row.dataset().files(), 23);
  EXPECT_EQ(row.dataset().bytes(), 200);
  EXPECT_EQ(row.train().skipped_files(), 1);
  EXPECT_EQ(row.train().skipped(0).path(), "cut.jpg");
  EXPECT_EQ(row.cache().resident_fraction(), 0.5);
  // All read the same shards of a mixture.
  (*job.mutable_settings())["loader"] = "mixture";
  EXPECT_EQ(RowWith(job, {}, {first, second}).dataset().files(), 12);
}

TEST(TrainRowTest, TheBoundIsTheLargestButALoaderMustNotBeWaitedFor) {
  const auto bound = [](const std::map<std::string, double>& phases) {
    TrainReply result = TwoSteps();
    *result.mutable_phases() = {phases.begin(), phases.end()};
    return RowWith(SmallJob(), {}, {result}).train().bound_by();
  };
  EXPECT_EQ(bound({{"forward", 0.1}, {"data_wait", 0.019}}), "compute");
  EXPECT_EQ(bound({{"forward", 0.1}, {"data_wait", 0.021}}), "loader");
  EXPECT_EQ(bound({{"forward", 0.04}, {"copy", 0.12}}), "copy");
  EXPECT_EQ(bound({{"forward", 0.04}, {"grad_sync", 0.12}}), "synchronization");
  // A replayed graph does not tell its parts.
  EXPECT_EQ(bound({{"unattributed", 0.15}, {"copy", 0.05}}), "compute");
}

TEST(TrainRowTest, UnusableFilesAreCountedAndLabeled) {
  Job job = SmallJob();
  job.set_scope("e2e");
  (*job.mutable_settings())["loader"] = "native";
  TrainReply fed = TwoSteps();
  fed.set_storage("ext4");
  fed.set_skipped_files(2);
  fed.add_skipped()->set_path("cut.jpg");
  const Row row = RowWith(job, {}, {fed});
  EXPECT_EQ(row.train().skipped_files(), 2);
  EXPECT_EQ(row.train().skipped(0).path(), "cut.jpg");
  ASSERT_EQ(row.labels_size(), 1);
  EXPECT_EQ(row.labels(0), "skipped_files");
  fed.set_skipped_files(0);
  EXPECT_EQ(RowWith(job, {}, {fed}).labels_size(), 0);
}

}  // namespace
}  // namespace feedrate
