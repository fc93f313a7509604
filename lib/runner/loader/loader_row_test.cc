#include "lib/runner/loader/loader_row.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "lib/machine/gpu.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

EpochReply EpochOf(const std::string& text) {
  EpochReply epoch;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &epoch));
  return epoch;
}

EpochReply SomeEpoch() {
  return EpochOf(R"(
    items: 100
    batches: 4
    elapsed_s: 2
    startup_s: 0.5
    first_batch_s: 0.9
    teardown_s: 0.5
    samples_s: [ 0.9, 0.01, 0.3, 0.01 ]
    cpu_s: 3
    bytes_out: 10
    stages {
      name: "decode"
      busy_s: 1
      wait_in_s: 0.5
      wait_out_s: 0.25
      queue_fill: 0.5
    })");
}

LoaderSpec SpecOf(int workers) {
  LoaderSpec spec;
  spec.set_workers(workers);
  return spec;
}

TEST(LoaderRowTest, FramesThatAnEngineLeftAreLabeled) {
  EpochReply epoch = SomeEpoch();
  Row row;
  SetEpochs({epoch}, SpecOf(2), 8, 0, &row);
  EXPECT_EQ(row.labels_size(), 0);
  epoch.set_cpu_frames(16);
  SetEpochs({SomeEpoch(), epoch}, SpecOf(2), 8, 0, &row);
  EXPECT_THAT(row.labels(), ElementsAre("cpu_fallback"));
}

TEST(LoaderRowTest, EpochsAddUp) {
  EpochReply second = SomeEpoch();
  second.set_elapsed_s(3);
  second.set_startup_s(1.5);
  second.set_errors_total(30);
  second.add_errors()->set_path("a.jpg");
  EpochReply first = second;
  first.set_elapsed_s(2);
  first.set_startup_s(0.5);
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
  EXPECT_EQ(row.loader().errors_total(), 30) << "the same ones";
  EXPECT_EQ(row.loader().errors_size(), 1);
  ASSERT_EQ(row.loader().stages_size(), 1);
  EXPECT_EQ(row.loader().stages(0).busy_s(), 2);
  EXPECT_EQ(row.loader().stages(0).queue_fill(), 0.5);
}

TEST(LoaderRowTest, WorkersThatDoNothingAreIdle) {
  Row row;
  SetEpochs({SomeEpoch()}, SpecOf(2), 8, 0, &row);
  EXPECT_DOUBLE_EQ(row.loader().cpu_idle(), 0.25);
  EXPECT_FALSE(row.loader().has_sync_overhead()) << "there is no GPU";
  EXPECT_FALSE(row.loader().has_consumer_utilisation());
  // More workers than processors do not add capacity.
  SetEpochs({SomeEpoch()}, SpecOf(8), 2, 0, &row);
  EXPECT_DOUBLE_EQ(row.loader().cpu_idle(), 0.25);
}

TEST(LoaderRowTest, WaitsForAGpuAreAShareOfItsThreads) {
  EpochReply epoch = SomeEpoch();
  epoch.set_sync_s(1.5);
  epoch.set_sync_threads(3);
  Row row;
  SetEpochs({epoch, epoch}, SpecOf(2), 8, 0, &row);
  EXPECT_DOUBLE_EQ(row.loader().sync_overhead(), 1.5 / (3 * epoch.elapsed_s()));
  SetEpochs({epoch}, SpecOf(2), 8, /*step_s=*/0.1, &row);
  EXPECT_FALSE(row.loader().has_sync_overhead()) << "the step holds buffers";
}

TEST(LoaderRowTest, BatchesThatWereReady) {
  Row row;
  SetEpochs({SomeEpoch()}, SpecOf(2), 8, 0, &row);
  EXPECT_DOUBLE_EQ(row.loader().prefetch_efficiency(), 2.0 / 3);
}

TEST(LoaderRowTest, AStepHasAUtilization) {
  EpochReply epoch = SomeEpoch();
  epoch.set_consumer_s(1.5);
  Row row;
  SetEpochs({epoch}, SpecOf(2), 8, 0.375, &row);
  EXPECT_DOUBLE_EQ(row.loader().consumer_utilisation(), 0.75);
  EXPECT_DOUBLE_EQ(row.loader().consumer_step_s(), 0.375);
  EXPECT_FALSE(row.loader().has_cpu_idle());
}

TEST(LoaderRowTest, AGpuAndItsMemory) {
  EpochReply large = SomeEpoch();
  large.set_gpu_allocated_bytes(50);
  large.set_gpu_reserved_bytes(70);
  EpochReply small = SomeEpoch();
  small.set_gpu_allocated_bytes(40);
  small.set_gpu_reserved_bytes(80);
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

// Epochs of a loader with `workers` workers: `start_s` before the first batch
// of each, `first_s` once, and `item_s` per item and worker.
class LoaderOfTest {
 public:
  LoaderOfTest(const LoaderSpec& spec, double first_s, double start_s,
               double item_s)
      : spec_(spec), first_s_(first_s), start_s_(start_s), item_s_(item_s) {}

  Preflight Look(bool slow_skip = true) {
    PreflightPolicy policy;
    policy.slow_skip = slow_skip;
    const auto preflight = PreflightOfLoader(
        policy, spec_, 10000,
        [this](int64_t count, double) -> absl::StatusOr<EpochReply> {
          counts.push_back(count);
          const int64_t first = std::min<int64_t>(count, spec_.batch_size());
          EpochReply epoch;
          epoch.set_items(count);
          epoch.set_first_batch_s(start_s_ + first * item_s_ +
                                  (counts.size() == 1 ? first_s_ : 0));
          epoch.set_elapsed_s(epoch.first_batch_s() +
                              (count - first) * item_s_ / spec_.workers());
          return epoch;
        });
    EXPECT_TRUE(preflight.ok()) << preflight.status();
    return *preflight;
  }

  std::vector<int64_t> counts;

 private:
  const LoaderSpec spec_;
  const double first_s_;
  const double start_s_;
  const double item_s_;
};

TEST(PreflightOfLoaderTest, WhatHappensOnceDoesNotCount) {
  LoaderSpec spec = SpecOf(8);
  spec.set_batch_size(256);
  // A CUDA context and a graph: 0.5 s.
  LoaderOfTest once(spec, 0.5, 0, 0.001);
  EXPECT_FALSE(once.Look().stops_early);
  EXPECT_THAT(once.counts, testing::ElementsAre(10, 10));
  // Workers of each epoch have a first call too.
  LoaderOfTest each(spec, 0, 0.6, 0.01);
  const Preflight preflight = each.Look();
  EXPECT_FALSE(preflight.stops_early) << preflight.reason;
  EXPECT_NEAR(preflight.per_item_s, 0.01, 1e-6);
  EXPECT_THAT(each.counts, testing::ElementsAre(10, 10, 2 * 8 * 256));
}

TEST(PreflightOfLoaderTest, SlowLoadersStop) {
  LoaderSpec spec = SpecOf(8);
  spec.set_batch_size(256);
  LoaderOfTest slow(spec, 0, 0, 0.06);
  const Preflight preflight = slow.Look();
  EXPECT_TRUE(preflight.stops_early);
  EXPECT_EQ(preflight.reason,
            "preflight: 0.06 s per item over 4096 items, slow from 0.05 s on");
  EXPECT_FALSE(slow.Look(/*slow_skip=*/false).stops_early);
  // Nobody waits for a second look at this one.
  LoaderOfTest hopeless(spec, 0, 0, 1);
  EXPECT_TRUE(hopeless.Look().stops_early);
  EXPECT_THAT(hopeless.counts, testing::ElementsAre(10, 10));
}

LoaderSpec StoreSpec() {
  LoaderSpec spec;
  (*spec.mutable_store())["url"] = "s3://bucket/a";
  (*spec.mutable_store())["connections"] = "8";
  return spec;
}

EpochReply StoreEpoch() {
  return EpochOf(R"(
    storage {
      requests: 10
      bytes: 4000000
      retries: 1
      busy_s: 0.5
      cache_hits: 3
      cache_misses: 1
    })");
}

Row RowWithStages() {
  Row row;
  LoaderStage* const decode = row.mutable_loader()->add_stages();
  decode->set_name("decode");
  decode->set_busy_s(1);
  decode->set_wait_in_s(3);
  return row;
}

TEST(StorageRowTest, SumsEpochs) {
  Row row = RowWithStages();
  SetStorage({StoreEpoch(), StoreEpoch()}, StoreSpec(), 2.0, &row);
  const Storage& storage = row.storage();
  EXPECT_EQ(storage.scheme(), "s3");
  EXPECT_EQ(storage.connections(), 8);
  EXPECT_EQ(storage.requests(), 20);
  EXPECT_EQ(storage.bytes(), 8000000);
  EXPECT_EQ(storage.retries(), 2);
  EXPECT_DOUBLE_EQ(storage.download_mb_per_s(), 8);
  EXPECT_DOUBLE_EQ(storage.cache_hit_rate(), 0.75);
  EXPECT_DOUBLE_EQ(storage.network_share(), 0.75);
  EXPECT_DOUBLE_EQ(storage.parallel_efficiency(), 0.5);
  EXPECT_THAT(StorageText(row), HasSubstr("8.0 MB/s"));
}

TEST(StorageRowTest, ASettingIsTheConnections) {
  LoaderSpec spec = StoreSpec();
  (*spec.mutable_settings())["connections"] = "2";
  EXPECT_EQ(ConnectionsOf(spec), 2);
  spec.clear_store();
  EXPECT_EQ(ConnectionsOf(spec), 0);
}

TEST(StorageRowTest, WhatWasNotMovedHasNoSpeed) {
  Row row = RowWithStages();
  EpochReply epoch;
  epoch.mutable_storage()->set_cache_hits(5);
  SetStorage({epoch}, StoreSpec(), 2.0, &row);
  EXPECT_FALSE(row.storage().has_download_mb_per_s());
  EXPECT_FALSE(row.storage().has_parallel_efficiency());
  EXPECT_EQ(row.storage().cache_hit_rate(), 1);
  EXPECT_EQ(row.storage().network_share(), 0);
}

TEST(StorageRowTest, FilesHaveNone) {
  Row row;
  SetStorage({EpochReply()}, LoaderSpec(), std::nullopt, &row);
  EXPECT_FALSE(row.has_storage());
  EXPECT_EQ(StorageText(row), "");
}

}  // namespace
}  // namespace feedrate
