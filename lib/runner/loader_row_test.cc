#include "lib/runner/loader_row.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/machine/gpu.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

EpochReply SomeEpoch() {
  EpochReply epoch;
  epoch.items = 100;
  epoch.batches = 4;
  epoch.elapsed_s = 2;
  epoch.startup_s = 0.5;
  epoch.first_batch_s = 0.9;
  epoch.teardown_s = 0.5;
  epoch.samples_s = {0.9, 0.01, 0.3, 0.01};
  epoch.cpu_s = 3;
  epoch.bytes_out = 10;
  epoch.stages = {{"decode", 1, 0.5, 0.25, 0.5}};
  return epoch;
}

LoaderSpec SpecOf(int workers) {
  LoaderSpec spec;
  spec.workers = workers;
  return spec;
}

TEST(LoaderRowTest, FramesThatAnEngineLeftAreLabelled) {
  EpochReply epoch = SomeEpoch();
  Row row;
  SetEpochs({epoch}, SpecOf(2), 8, 0, &row);
  EXPECT_EQ(row.labels_size(), 0);
  epoch.cpu_frames = 16;
  SetEpochs({SomeEpoch(), epoch}, SpecOf(2), 8, 0, &row);
  EXPECT_THAT(row.labels(), ElementsAre("cpu_fallback"));
}

TEST(LoaderRowTest, EpochsAddUp) {
  EpochReply second = SomeEpoch();
  second.elapsed_s = 3;
  second.startup_s = 1.5;
  second.errors_total = 30;
  second.errors.resize(20, {1, "a.jpg", "no image"});
  EpochReply first = second;
  first.elapsed_s = 2;
  first.startup_s = 0.5;
  Row row;
  SetEpochs({first, second}, SpecOf(2), 8, 0, &row);
  EXPECT_EQ(row.status(), "ok");
  EXPECT_EQ(row.items(), 200);
  EXPECT_EQ(row.throughput(), 40);
  EXPECT_EQ(row.samples_s_size(), 8);
  EXPECT_EQ(row.timed_unit(), "batch");
  EXPECT_EQ(row.loader().epochs(), 2);
  EXPECT_EQ(row.loader().startup_s(), 1) << "a mean";
  EXPECT_EQ(row.loader().cpu_s(), 6) << "a sum";
  EXPECT_EQ(row.loader().errors_total(), 60);
  EXPECT_EQ(row.loader().errors_size(), 20);
  ASSERT_EQ(row.loader().stages_size(), 1);
  EXPECT_EQ(row.loader().stages(0).busy_s(), 2);
  EXPECT_EQ(row.loader().stages(0).queue_fill(), 0.5);
}

TEST(LoaderRowTest, WorkersThatDoNothingAreOverhead) {
  Row row;
  SetEpochs({SomeEpoch()}, SpecOf(2), 8, 0, &row);
  EXPECT_DOUBLE_EQ(row.loader().sync_overhead(), 0.25);
  EXPECT_FALSE(row.loader().has_consumer_utilisation());
  // More workers than processors do not make more of it.
  SetEpochs({SomeEpoch()}, SpecOf(8), 2, 0, &row);
  EXPECT_DOUBLE_EQ(row.loader().sync_overhead(), 0.25);
}

TEST(LoaderRowTest, BatchesThatWereReady) {
  Row row;
  SetEpochs({SomeEpoch()}, SpecOf(2), 8, 0, &row);
  EXPECT_DOUBLE_EQ(row.loader().prefetch_efficiency(), 2.0 / 3);
}

TEST(LoaderRowTest, AStepHasAUtilisation) {
  EpochReply epoch = SomeEpoch();
  epoch.consumer_s = 1.5;
  Row row;
  SetEpochs({epoch}, SpecOf(2), 8, 0.375, &row);
  EXPECT_DOUBLE_EQ(row.loader().consumer_utilisation(), 0.75);
  EXPECT_DOUBLE_EQ(row.loader().consumer_step_s(), 0.375);
  EXPECT_FALSE(row.loader().has_sync_overhead());
}

TEST(LoaderRowTest, AGpuAndItsMemory) {
  EpochReply large = SomeEpoch();
  large.gpu_allocated_bytes = 50;
  large.gpu_reserved_bytes = 70;
  EpochReply small = SomeEpoch();
  small.gpu_allocated_bytes = 40;
  small.gpu_reserved_bytes = 80;
  Row row;
  SetEpochs({large, small}, SpecOf(2), 8, 0, &row);
  EXPECT_EQ(row.gpu_memory().peak_allocated_bytes(), 50);
  EXPECT_EQ(row.gpu_memory().peak_reserved_bytes(), 80);
  EXPECT_FALSE(row.loader().has_gpu());
  GpuUsage usage;
  usage.samples = 3;
  usage.busy = 0.5;
  usage.jpeg_busy = 0.9;
  usage.memory_peak_bytes = 100;
  SetGpuUsage(usage, &row);
  EXPECT_EQ(row.loader().gpu().samples(), 3);
  EXPECT_EQ(row.loader().gpu().busy(), 0.5);
  EXPECT_EQ(row.loader().gpu().jpeg_busy(), 0.9);
  EXPECT_EQ(row.loader().gpu().memory_peak_bytes(), 100);
  EXPECT_FALSE(row.loader().gpu().has_decoder_busy()) << "not told";
}

TEST(LoaderRowTest, RunningIsWithoutStartAndEnd) {
  EXPECT_EQ(RunningThroughput(SomeEpoch()), 100);
  EXPECT_EQ(RunningThroughput(EpochReply()), 0);
}

}  // namespace
}  // namespace feedrate
