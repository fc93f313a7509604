#include "lib/runner/gpu_row.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/measure/subject.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Timing SomeTiming() {
  Timing timing;
  timing.samples_s = {1e-3, 1e-3, 2e-3};
  timing.items = 300;
  GpuTiming& gpu = timing.gpu.emplace();
  gpu.clocks_mhz = {1980, 1900, 1480};
  gpu.max_clock_mhz = 1980;
  gpu.throttle_reasons = 4;
  gpu.peak_allocated_bytes = 10;
  gpu.peak_reserved_bytes = 20;
  gpu.bytes_in = 3000;
  gpu.bytes_out = 6000;
  return timing;
}

Row TimedRow() {
  Row row;
  row.set_throughput(1000);
  row.add_warnings("noisy");
  return row;
}

TEST(GpuRowTest, ASlowSampleIsMarked) {
  Row row = TimedRow();
  SetGpu({}, SomeTiming(), &row);
  EXPECT_THAT(row.gpu().slow_samples(), ElementsAre(2));
  EXPECT_THAT(row.gpu().throttle_reasons(), ElementsAre("sw_power_cap"));
  EXPECT_THAT(row.warnings(), ElementsAre("noisy", "throttled"));
  EXPECT_THAT(row.gpu().clocks_mhz(), ElementsAre(1980, 1900, 1480));
  EXPECT_EQ(row.gpu_memory().peak_reserved_bytes(), 20);
}

TEST(GpuRowTest, AtFullClockNothingIs) {
  Timing timing = SomeTiming();
  // 75% of the highest is enough.
  timing.gpu->clocks_mhz = {1485, 1980, 1700};
  Row row = TimedRow();
  SetGpu({}, timing, &row);
  EXPECT_THAT(row.gpu().slow_samples(), IsEmpty());
  EXPECT_THAT(row.warnings(), ElementsAre("noisy"));
}

TEST(GpuRowTest, ALoopOverABatchIsLabelled) {
  GpuRowInput input;
  input.settings.batch = 8;
  input.per_sample_loop = true;
  Row row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  EXPECT_THAT(row.labels(), ElementsAre("cold", "per_sample_loop"));
}

TEST(GpuRowTest, TheLimitIsWhatMustMove) {
  GpuRowInput input;
  input.copy_bytes_per_s = 90000;
  Row row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  // 30 bytes an item.
  EXPECT_EQ(row.limit().name(), "device copy");
  EXPECT_DOUBLE_EQ(row.limit().throughput(), 3000);
  EXPECT_DOUBLE_EQ(row.of_limit(), 1.0 / 3);
  // A crop reads what it likes: 20.
  input.partial = true;
  SetGpu(input, SomeTiming(), &row);
  EXPECT_DOUBLE_EQ(row.limit().throughput(), 4500);
}

TEST(GpuRowTest, HotAndBatchesAreSaid) {
  GpuRowInput input;
  Row row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  EXPECT_EQ(row.gpu().l2(), "cold");
  EXPECT_THAT(row.labels(), ElementsAre("cold"));
  EXPECT_EQ(row.timed_unit(), "");
  input.settings.cold = false;
  input.settings.batch = 100;
  row = TimedRow();
  SetGpu(input, SomeTiming(), &row);
  EXPECT_EQ(row.gpu().l2(), "hot");
  EXPECT_THAT(row.labels(), IsEmpty());
  EXPECT_EQ(row.timed_unit(), "batch");
  EXPECT_EQ(row.gpu().batch(), 100);
}

TEST(GpuRowTest, TheCpuHasNone) {
  Timing timing = SomeTiming();
  timing.gpu.reset();
  Row row = TimedRow();
  SetGpu({}, timing, &row);
  EXPECT_FALSE(row.has_gpu());
  EXPECT_FALSE(row.has_gpu_memory());
}

}  // namespace
}  // namespace feedrate
