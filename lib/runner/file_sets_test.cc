#include "lib/runner/file_sets.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string NewFolder(const std::string& name) {
  const std::string folder = testing::TempDir() + "/" + name;
  EXPECT_TRUE(MakeFolder(folder + "/sub").ok());
  return folder;
}

void Write(const std::string& path, const std::string& text) {
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
}

TEST(FileSetsTest, ListsWhatCountsAsDataSorted) {
  const std::string folder = NewFolder("list");
  Write(folder + "/sub/c.JPG", "123");
  Write(folder + "/b.npy", "1");
  Write(folder + "/a.txt", "");
  const auto set = ListFolder(folder, {"jpg", "npy"}, 0);
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->items, 2);
  EXPECT_THAT(set->files[0].path, EndsWith("/list/b.npy"));
  EXPECT_THAT(set->files[1].path, EndsWith("/list/sub/c.JPG"));
  EXPECT_EQ(set->files[0].path[0], '/');
  EXPECT_EQ(set->files[1].bytes, 3);
  EXPECT_EQ(ListFolder(folder, {"jpg", "npy"}, 1)->items, 1);
}

TEST(FileSetsTest, TooFewIsTold) {
  const std::string folder = NewFolder("few");
  Write(folder + "/a.jpg", "1");
  const auto set = ListFolder(folder, {"jpg"}, 3);
  ASSERT_FALSE(set.ok());
  EXPECT_THAT(std::string(set.status().message()),
              HasSubstr("ask for --num_items=1"));
  EXPECT_FALSE(ListFolder(folder, {"png"}, 0).ok());
  EXPECT_FALSE(ListFolder("/no/such/folder", {"png"}, 0).ok());
}

TEST(FileSetsTest, SyntheticFilesAreWrittenOnce) {
  const std::string cache = NewFolder("cache");
  const auto set = WriteSynthetic("synthetic:rgb,n=3", 2, cache, nullptr);
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->items, 2);
  EXPECT_THAT(set->files[1].path, EndsWith("synthetic_00000001.jpg"));
  Write(set->files[1].path, "kept");
  const auto again = WriteSynthetic("synthetic:rgb,n=3", 0, cache, nullptr);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->items, 3);
  EXPECT_EQ(again->files[1].bytes, 4);
  EXPECT_FALSE(WriteSynthetic("synthetic:rgb", 0, cache, nullptr).ok());
  EXPECT_FALSE(WriteSynthetic("synthetic:rgb,n=3", 4, cache, nullptr).ok());
}

TEST(FileSetsTest, ShardsHoldTheSameItems) {
  const std::string folder = NewFolder("items");
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) {
    Write(folder + "/" + name, name);
  }
  const auto set = ListFolder(folder, {"jpg"}, 0);
  const auto shards = WriteShards(*set, NewFolder("shards"), nullptr);
  ASSERT_TRUE(shards.ok()) << shards.status();
  EXPECT_EQ(shards->source, "shards");
  EXPECT_EQ(shards->items, 3);
  ASSERT_EQ(shards->files.size(), 1);
  // And a folder of tar files is one of shards.
  const auto listed =
      ListFolder(ParentFolder(shards->files[0].path), {"jpg"}, 0);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->source, "shards");
  EXPECT_EQ(listed->items, 3);
}

}  // namespace
}  // namespace feedrate
