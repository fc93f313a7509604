#include "lib/storage/open_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::Status Opened(const std::string& url) {
  return OpenObjectStore(url, StoreOptions()).status();
}

TEST(OpenStoreTest, TakesEveryKindOfAddress) {
  for (const char* url :
       {"s3://bucket/prefix", "S3://bucket", "gs://bucket/a b/ü",
        "https://host/shard-{000..099}.tar", "http://127.0.0.1:1/x.tar"}) {
    const auto store = OpenObjectStore(url, StoreOptions());
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->url(), url);
  }
  EXPECT_TRUE(Opened(::testing::TempDir()).ok());
  EXPECT_TRUE(Opened("file://" + ::testing::TempDir()).ok());
}

TEST(OpenStoreTest, RefusesTheRestInOneLine) {
  for (const char* url :
       {"ftp://host/x", "s3://", "s3://b/../x", "gs://a b", "https://host/",
        "https://host", "https://host/folder/", "https://host/{9..0}.tar",
        "/does/not/exist", "file:///does/not/exist"}) {
    const absl::Status status = Opened(url);
    EXPECT_FALSE(status.ok()) << url;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n"))) << url;
  }
}

TEST(OpenStoreTest, ShowsNoSecretOfAnAddress) {
  const auto store = OpenObjectStore(
      "https://host/x.tar?X-Amz-Signature=hunter2", StoreOptions());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->url(), "https://host/x.tar");
  EXPECT_THAT(Opened("https://me:hunter2@host/x").message(),
              Not(HasSubstr("hunter2")));
  EXPECT_THAT(Opened("s3://AKIA:hunter2@bucket/x").message(),
              Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace feedrate
