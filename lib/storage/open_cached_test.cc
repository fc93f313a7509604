#include "lib/storage/open_cached.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/store_spec.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TEST(StoreSpecTest, ReadsWhatItPrints) {
  StoreSpec spec;
  spec.url = "s3://bucket/a b";
  spec.options.connections = 16;
  spec.options.range_bytes = 1 << 20;
  spec.options.retries = 0;
  spec.options.timeout_s = 1.5;
  spec.options.endpoint = "http://127.0.0.1:9000";
  spec.options.anonymous = true;
  spec.cache_folder = "/cache";
  spec.cache_bytes = int64_t{1} << 40;
  const auto read = ParseStoreSpec(PrintStoreSpec(spec));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PrintStoreSpec(*read), PrintStoreSpec(spec));
  EXPECT_EQ(read->options.timeout_s, 1.5);
  EXPECT_EQ(read->cache_bytes, int64_t{1} << 40);
}

TEST(StoreSpecTest, NamesWhatIsWrong) {
  auto fields = PrintStoreSpec(StoreSpec());
  EXPECT_FALSE(ParseStoreSpec(fields).ok()) << "no url";
  fields["url"] = "s3://bucket";
  EXPECT_TRUE(ParseStoreSpec(fields).ok());
  for (const char* name : {"connections", "range_bytes", "timeout_s"}) {
    auto wrong = fields;
    wrong[name] = "0";
    EXPECT_THAT(std::string(ParseStoreSpec(wrong).status().message()),
                HasSubstr(name));
  }
  fields["colour"] = "red";
  EXPECT_FALSE(ParseStoreSpec(fields).ok());
}

TEST(StoreSpecTest, OpensWithAndWithoutACache) {
  std::string folder = testing::TempDir() + "/remote_store.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_TRUE(MakeFolder(JoinPath(folder, "far")).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(folder, "far/a"), "x").ok());
  StoreSpec spec;
  spec.url = "file://" + JoinPath(folder, "far");
  const auto plain = OpenCachedStore(spec);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(plain->is_local);
  EXPECT_EQ(plain->cached, nullptr);
  spec.cache_folder = JoinPath(folder, "cache");
  const auto cached = OpenCachedStore(spec);
  ASSERT_TRUE(cached.ok()) << cached.status();
  EXPECT_EQ(cached->cached, cached->store.get());
  EXPECT_EQ(cached->store->List()->size(), 1u);
}

}  // namespace
}  // namespace feedrate
