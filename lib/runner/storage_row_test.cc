#include "lib/runner/storage_row.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

LoaderSpec SomeSpec() {
  LoaderSpec spec;
  spec.store = {{"url", "s3://bucket/a"}, {"connections", "8"}};
  return spec;
}

EpochReply SomeEpoch() {
  EpochReply epoch;
  epoch.storage = StorageCounts{10, 4000000, 1, 0, 0.5, 3, 1, 0, 0};
  return epoch;
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
  SetStorage({SomeEpoch(), SomeEpoch()}, SomeSpec(), 2.0, &row);
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
  LoaderSpec spec = SomeSpec();
  spec.settings["connections"] = "2";
  EXPECT_EQ(ConnectionsOf(spec), 2);
  spec.store.clear();
  EXPECT_EQ(ConnectionsOf(spec), 0);
}

TEST(StorageRowTest, WhatWasNotMovedHasNoSpeed) {
  Row row = RowWithStages();
  EpochReply epoch;
  epoch.storage.emplace();
  epoch.storage->cache_hits = 5;
  SetStorage({epoch}, SomeSpec(), 2.0, &row);
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
