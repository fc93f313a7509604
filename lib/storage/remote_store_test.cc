#include "lib/storage/remote_store.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/base/new_file.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TEST(RemoteStoreTest, ReadsWhatItPrints) {
  RemoteStoreSpec spec;
  spec.url = "s3://bucket/a b";
  spec.options.connections = 16;
  spec.options.range_bytes = 1 << 20;
  spec.options.retries = 0;
  spec.options.timeout_s = 1.5;
  spec.options.endpoint = "http://127.0.0.1:9000";
  spec.options.anonymous = true;
  spec.cache_folder = "/cache";
  spec.cache_bytes = int64_t{1} << 40;
  const auto read = ParseRemoteStore(PrintRemoteStore(spec));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PrintRemoteStore(*read), PrintRemoteStore(spec));
  EXPECT_EQ(read->options.timeout_s, 1.5);
  EXPECT_EQ(read->cache_bytes, int64_t{1} << 40);
}

TEST(RemoteStoreTest, NamesWhatIsWrong) {
  auto fields = PrintRemoteStore(RemoteStoreSpec());
  EXPECT_FALSE(ParseRemoteStore(fields).ok()) << "no url";
  fields["url"] = "s3://bucket";
  EXPECT_TRUE(ParseRemoteStore(fields).ok());
  for (const char* name : {"connections", "range_bytes", "timeout_s"}) {
    auto wrong = fields;
    wrong[name] = "0";
    EXPECT_THAT(std::string(ParseRemoteStore(wrong).status().message()),
                HasSubstr(name));
  }
  fields["colour"] = "red";
  EXPECT_FALSE(ParseRemoteStore(fields).ok());
}

TEST(RemoteStoreTest, OpensWithAndWithoutACache) {
  std::string folder = testing::TempDir() + "/remote_store.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(MakeFolder(JoinPath(folder, "far")).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(folder, "far/a"), "x").ok());
  RemoteStoreSpec spec;
  spec.url = "file://" + JoinPath(folder, "far");
  const auto plain = OpenRemoteStore(spec);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(plain->is_local);
  EXPECT_EQ(plain->cached, nullptr);
  spec.cache_folder = JoinPath(folder, "cache");
  const auto cached = OpenRemoteStore(spec);
  ASSERT_TRUE(cached.ok()) << cached.status();
  EXPECT_EQ(cached->cached, cached->store.get());
  EXPECT_EQ(cached->store->List()->size(), 1u);
}

}  // namespace
}  // namespace feedrate
