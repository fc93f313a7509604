#include "lib/storage/remote/bucket_path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::unique_ptr<BucketPath> Parsed(const std::string& url) {
  auto path = BucketPath::Parse(url);
  EXPECT_TRUE(path.ok()) << path.status();
  return *std::move(path);
}

TEST(BucketPathTest, AFolderOfABucket) {
  for (const char* url : {"s3://data/a b/ü?#", "s3://data/a b/ü?#/"}) {
    const auto path = Parsed(url);
    EXPECT_EQ(path->bucket(), "data");
    EXPECT_EQ(path->prefix(), "a b/ü?#/");
    EXPECT_EQ(path->KeyOf("x/y"), "a b/ü?#/x/y");
    EXPECT_EQ(path->AddressOf("x"), "s3://data/a b/ü?#/x");
    EXPECT_EQ(path->NameOf("a b/ü?#/x/y"), "x/y");
    EXPECT_EQ(path->NameOf("a b/ü?#/"), std::nullopt);
    EXPECT_EQ(path->NameOf("a b/ü?#/x/"), std::nullopt);
    EXPECT_EQ(path->NameOf("elsewhere"), std::nullopt);
    EXPECT_THAT(path->fixed_names(), IsEmpty());
  }
}

TEST(BucketPathTest, AWholeBucket) {
  for (const char* url : {"gs://data", "gs://data/"}) {
    const auto path = Parsed(url);
    EXPECT_EQ(path->prefix(), "");
    EXPECT_EQ(path->KeyOf("x"), "x");
    EXPECT_EQ(path->NarrowToObject(), std::nullopt);
  }
}

TEST(BucketPathTest, ListsNameTheObjects) {
  const auto path = Parsed("s3://data/a/s-{08..09}/x.tar");
  EXPECT_EQ(path->prefix(), "a/");
  EXPECT_THAT(path->fixed_names(), ElementsAre("s-08/x.tar", "s-09/x.tar"));
  EXPECT_EQ(path->KeyOf("s-08/x.tar"), "a/s-08/x.tar");
}

TEST(BucketPathTest, OneObject) {
  const auto path = Parsed("s3://data/a/b.tar");
  EXPECT_EQ(path->KeyOf("x"), "a/b.tar/x");
  EXPECT_EQ(path->NarrowToObject(), "b.tar");
  EXPECT_EQ(path->KeyOf("b.tar"), "a/b.tar");
  EXPECT_EQ(path->AddressOf("b.tar"), "s3://data/a/b.tar");
  EXPECT_EQ(Parsed("s3://data/b.tar")->NarrowToObject(), "b.tar");
  EXPECT_EQ(Parsed("s3://data/a/")->NarrowToObject(), std::nullopt);
}

TEST(BucketPathTest, RefusesBadNames) {
  for (const char* url :
       {"s3://", "s3:///x", "s3://a b/x", "s3://-x/", "s3:x", "s3://b/a/../c",
        "s3://b/..", "s3://b//x", "s3://b/{3..1}"}) {
    EXPECT_FALSE(BucketPath::Parse(url).ok()) << url;
  }
  const auto secret = BucketPath::Parse("s3://KEY:hunter2@bucket/x");
  EXPECT_THAT(secret.status().message(), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace feedrate
