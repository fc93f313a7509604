#include "lib/runner/data/store_data.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/job.pb.h"
#include "lib/runner/data/file_sets.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/storage/object_store.h"
#include "lib/storage/shards.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::EndsWith;
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
  // A damaged index is an error; nothing is guessed.
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
  // A folder of tar files counts as shards.
  const auto listed =
      ListFolder(ParentFolder(shards->files[0].path), {"jpg"}, 0);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->source, "shards");
  EXPECT_EQ(listed->items, 3);
}

class InputCorporaTest : public testing::Test {
 protected:
  InputCorporaTest() {
    absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    catalogue_ = std::make_unique<Catalogue>(*std::move(catalogue));
    corpora_ = std::make_unique<InputCorpora>(*catalogue_, "", nullptr,
                                              [](const std::string&) {});
  }

  static Job MakeJob(const std::string& library,
                     const std::string& scenario = "image-rgb") {
    Job job;
    job.set_scenario(scenario);
    job.set_mode("micro");
    job.set_library(library);
    job.set_dataset("synthetic:rgb,n=3,seed=1");
    job.set_num_items(3);
    return job;
  }

  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<InputCorpora> corpora_;
};

TEST_F(InputCorporaTest, LibrariesOfOneFormShareOneMapping) {
  const auto opencv = corpora_->Get(MakeJob("opencv"));
  ASSERT_TRUE(opencv.ok()) << opencv.status();
  EXPECT_EQ(opencv->corpus->size(), 3);
  EXPECT_EQ(opencv->dataset.files(), 3);
  EXPECT_EQ(corpora_->Get(MakeJob("pillow"))->corpus, opencv->corpus);
  const auto kornia = corpora_->Get(MakeJob("kornia"));
  ASSERT_TRUE(kornia.ok()) << kornia.status();
  EXPECT_NE(kornia->corpus, opencv->corpus);
  EXPECT_EQ(kornia->corpus->dtype(), DType::kFloat32);
  EXPECT_EQ(kornia->corpus->layout(), Layout::kChw);
  EXPECT_EQ(kornia->plain, opencv->corpus);
  EXPECT_EQ(corpora_->Get(MakeJob("null"))->corpus, opencv->corpus);
}

TEST_F(InputCorporaTest, NineChannelsAreThreeTimesThree) {
  const auto input = corpora_->Get(MakeJob("opencv", "image-9ch"));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->corpus->item(0).channels, 9);
  EXPECT_EQ(input->plain->item(0).channels, 9);
}

TEST_F(InputCorporaTest, TooFewImagesAreTheCallersMistake) {
  Job job = MakeJob("opencv");
  job.set_num_items(4);
  const absl::Status status = corpora_->Get(job).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--num_items=3"));
}

TEST_F(InputCorporaTest, AnIdIsNoPath) {
  Job job = MakeJob("opencv");
  job.set_dataset("val");
  EXPECT_THAT(std::string(corpora_->Get(job).status().message()),
              HasSubstr("--dataset=DIR"));
}

}  // namespace
}  // namespace feedrate
