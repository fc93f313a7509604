#include "lib/base/dataset_id.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(DatasetIdTest, TheLastPartWithoutItsEnding) {
  EXPECT_EQ(*DatasetId("/data/imagenet/val"), "val");
  EXPECT_EQ(*DatasetId("/data/imagenet/val/"), "val");
  EXPECT_EQ(*DatasetId("gs://bucket/imagenet/val.tar"), "val");
  EXPECT_EQ(*DatasetId("https://host/a/val.tar.gz"), "val");
  EXPECT_EQ(*DatasetId("val"), "val");
}

TEST(DatasetIdTest, SyntheticDataIsNamedByItsParameters) {
  EXPECT_EQ(*DatasetId("synthetic:rgb,seed=1,n=20"),
            "synthetic:rgb,n=20,seed=1");
  EXPECT_EQ(*DatasetId("synthetic:rgb"), "synthetic:rgb");
}

TEST(DatasetIdTest, NothingToNameItByIsAnError) {
  for (const char* bad : {"", "/", "..", "synthetic:", "synthetic:n=3",
                          "synthetic:rgb,n", "synthetic:rgb,=2"}) {
    EXPECT_FALSE(DatasetId(bad).ok()) << bad;
  }
}

TEST(DatasetIdTest, OfAnAddressItIsTheLastPart) {
  EXPECT_EQ(*DatasetId("s3://bucket/a/val/"), "val");
  EXPECT_EQ(*DatasetId("gs://bucket"), "bucket");
  EXPECT_EQ(*DatasetId("https://host/shard-{000..099}.tar"),
            "shard-{000..099}");
  EXPECT_EQ(*DatasetId("https://host/a/val.tar?X-Amz-Signature=0/1"), "val");
}

TEST(IsRemoteDatasetTest, KnowsAddresses) {
  EXPECT_TRUE(IsRemoteDataset("s3://bucket/prefix"));
  EXPECT_TRUE(IsRemoteDataset("gs://bucket"));
  EXPECT_TRUE(IsRemoteDataset("https://host/shard-{000..099}.tar"));
  EXPECT_TRUE(IsRemoteDataset("file:///data"));
  EXPECT_FALSE(IsRemoteDataset("/data/s3://x"));
  EXPECT_FALSE(IsRemoteDataset("synthetic:rgb,n=10"));
}

}  // namespace
}  // namespace feedrate
