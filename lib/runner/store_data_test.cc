#include "lib/runner/store_data.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/storage/object_store.h"
#include "lib/storage/shards.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class StoreDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/store_data.XXXXXX";
    folder_ = mkdtemp(folder.data());
    ASSERT_TRUE(MakeFolder(JoinPath(folder_, "far")).ok());
    spec_.url = "file://" + JoinPath(folder_, "far");
    spec_.cache_folder = JoinPath(folder_, "cache");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& content) {
    const std::string path = JoinPath(folder_, name);
    ASSERT_TRUE(MakeFolder(ParentFolder(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  }
  std::unique_ptr<RemoteData> Open() {
    auto data =
        OpenStoreData(spec_, [this](const std::string& text) { said_ = text; });
    EXPECT_TRUE(data.ok()) << data.status();
    return *std::move(data);
  }

  const std::vector<std::string> endings_ = {"jpg", "npy"};
  std::string folder_;
  std::string said_;
  StoreSpec spec_;
};

TEST_F(StoreDataTest, ObjectsAreItemsByName) {
  Write("far/b.JPG", "bb");
  Write("far/a/x y.jpg", "a");
  Write("far/c.txt", "none");
  Write("far/d.npy", "ddd");
  const auto data = Open();
  const auto set = data->Objects(endings_, 0);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->source, "objects");
  EXPECT_EQ(set->items, 3);
  EXPECT_EQ(set->files[0].path, "a/x y.jpg");
  EXPECT_EQ(set->files[1].bytes, 2);
  EXPECT_EQ(*data->Read(set->files[2]), "ddd");
  EXPECT_EQ(data->Objects(endings_, 2)->items, 2);
  EXPECT_THAT(std::string(data->Objects(endings_, 4).status().message()),
              HasSubstr("has 3 usable objects, not 4"));
  EXPECT_EQ(data->Fields().at("url"), spec_.url);
}

TEST_F(StoreDataTest, SamplesOfShardsWithAndWithoutIndex) {
  for (int i = 0; i < 9; ++i) {
    Write(absl::StrCat("from/", i, ".jpg"), absl::StrCat("image ", i));
  }
  const std::string from = JoinPath(folder_, "from");
  auto store = *OpenFileStore(from);
  ASSERT_TRUE(MakeShards(*store->List(), JoinPath(folder_, "far"), 4096,
                         store.get(), nullptr)
                  .ok());
  Write("far/z.tar", tar::Builder()
                         .File("k.cls", "1")
                         .File("k.jpg", "image 9")
                         .File("k.seg.npy", "mask")
                         .Finish());
  const auto data = Open();
  const auto set = data->Objects(endings_, 0);
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->items, 10);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(*data->Read(set->files[i]), absl::StrCat("image ", i));
    EXPECT_EQ(set->files[i].part->crc32c.has_value(), i < 9);
  }
  EXPECT_EQ(set->files[9].part->member, "k.jpg");
  EXPECT_EQ(data->Objects(endings_, 4)->items, 4);
  // A damaged index is no reason to guess.
  Write("far/shard-000000.tar.index", "feedrate-shard-index 1\t9\t0\n");
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("shard-000000.tar.index: the index is damaged"));
}

TEST_F(StoreDataTest, BringsFilesHomeForOthers) {
  Write("far/c1/b.jpg", "bb");
  Write("far/c0/a.jpg", "a");
  const auto data = Open();
  const auto folder =
      data->BringHome(endings_, 0, /*own_names=*/false, nullptr);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*ReadFile(JoinPath(*folder, "000000/00000000.jpg")), "a");
  EXPECT_EQ(*ReadFile(JoinPath(*folder, "000001/00000001.jpg")), "bb");
  EXPECT_THAT(said_, HasSubstr("2 objects"));
}

TEST_F(StoreDataTest, NamesAreKeptWhereTheyMeanSomething) {
  Write("far/robot_1/b.jpg", "bb");
  Write("far/a.jpg", "a");
  const auto data = Open();
  const auto folder = data->BringHome(endings_, 0, /*own_names=*/true, nullptr);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*ReadFile(JoinPath(*folder, "robot_1/b.jpg")), "bb");
  EXPECT_EQ(*ReadFile(JoinPath(*folder, "a.jpg")), "a");
}

TEST_F(StoreDataTest, NothingOfUseIsSaidSo) {
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("there is nothing"));
  Write("far/readme.txt", "x");
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("has 1 objects, but no images"));
}

}  // namespace
}  // namespace feedrate
