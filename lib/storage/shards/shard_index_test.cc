#include "lib/storage/shards/shard_index.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

ShardIndex SomeIndex() {
  ShardIndex index;
  index.bytes = 10240;
  index.crc32c = 0xdeadbeef;
  index.members = {{"a/0.jpg", 512, 700, 1u}, {"ü x.npy", 2048, 0, 0u}};
  return index;
}

TEST(ShardIndexTest, ReadsWhatItPrints) {
  const auto index = ParseShardIndex(PrintShardIndex(SomeIndex()));
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->bytes, 10240);
  EXPECT_EQ(index->crc32c, 0xdeadbeef);
  ASSERT_EQ(index->members.size(), 2u);
  EXPECT_EQ(index->members[1].name, "ü x.npy");
  EXPECT_EQ(index->members[0].offset, 512);
  EXPECT_EQ(index->members[0].bytes, 700);
  EXPECT_EQ(index->members[0].crc32c, 1u);
}

TEST(ShardIndexTest, FindsEveryDamage) {
  const std::string text = PrintShardIndex(SomeIndex());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = damaged[i] == '1' ? '2' : '1';
    EXPECT_FALSE(ParseShardIndex(damaged).ok()) << i;
    EXPECT_FALSE(ParseShardIndex(text.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(ParseShardIndex("").ok());
}

// With a right checksum all the same: one that was made wrongly.
TEST(ShardIndexTest, StaysWithinTheShard) {
  ShardIndex index = SomeIndex();
  index.members[0].bytes = 10240;
  EXPECT_THAT(
      std::string(ParseShardIndex(PrintShardIndex(index)).status().message()),
      HasSubstr("line 2"));
  index.members[0].bytes = -1;
  EXPECT_FALSE(ParseShardIndex(PrintShardIndex(index)).ok());
}

TEST(SampleKeyTest, EndsAtTheFirstDotOfTheName) {
  EXPECT_EQ(SampleKey("a.b/c.d.jpg"), "a.b/c");
  EXPECT_EQ(SampleKey("c.jpg"), "c");
  EXPECT_EQ(SampleKey("c"), "c");
}

}  // namespace
}  // namespace feedrate
