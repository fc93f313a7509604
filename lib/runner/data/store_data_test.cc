#include "lib/runner/data/store_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/loader/source.h"
#include "lib/loader/source/container_source.h"
#include "lib/loader/source/data_folder.h"
#include "lib/media/image_file.h"
#include "lib/media/synthetic.h"
#include "lib/records/job.pb.h"
#include "lib/runner/data/file_sets.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/storage/http/tiny_server.h"
#include "lib/storage/shards.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

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
  EXPECT_EQ(set->left_out, "ignored 1 file: 1 .txt; the first is c.txt");
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

TEST_F(StoreDataTest, SamplesHaveTheSumsOfTheIndex) {
  Write("from/0.jpg", "image 0");
  auto store = *OpenFileStore(JoinPath(folder_, "from"));
  ASSERT_TRUE(MakeShards(*store->List(), JoinPath(folder_, "far"), 4096,
                         store.get(), nullptr)
                  .ok());
  const std::string shard = JoinPath(folder_, "far/shard-000000.tar");
  Write("far/shard-000000.tar",
        absl::StrReplaceAll(*ReadFile(shard), {{"image 0", "image 1"}}));
  const auto data = Open();
  const auto set = data->Objects(endings_, 0);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(absl::IsDataLoss(data->Read(set->files[0]).status()));
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

// A web server whose objects contain what follows their host in the address.
class WebDataTest : public StoreDataTest {
 protected:
  TinyAnswer Answer(const std::string& head) const {
    std::string body = head.substr(4, head.find(" HTTP/") - 4);
    const std::string size = size_.empty() ? absl::StrCat(body.size()) : size_;
    const bool first_only = absl::StrContains(head, "range: bytes=0-0\r\n");
    if (first_only) body.resize(1);
    return {absl::StrCat("HTTP/1.1 206 P\r\nContent-Length: ", body.size(),
                         "\r\n", version_, "Content-Range: bytes 0-",
                         body.size() - 1, "/", size, "\r\n\r\n", body)};
  }
  // The first object of `path`, read through a cache that lasts.
  std::string ReadFirst(const std::string& path) {
    spec_.url = absl::StrCat(server_.url(), path);
    const auto data = Open();
    const auto set = data->Objects(endings_, 0);
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() ? *data->Read(set->files[0]) : "";
  }

  std::string version_ = "ETag: \"1\"\r\n";
  std::string size_;
  std::atomic<int> reads_{0};
  TinyServer server_{[this](const std::string& head) {
    if (!absl::StrContains(head, "range: bytes=0-0\r\n")) ++reads_;
    return Answer(head);
  }};
};

TEST_F(WebDataTest, TheQueryIsPartOfWhatIsCached) {
  EXPECT_EQ(ReadFirst("/pic.jpg?id=A"), "/pic.jpg?id=A");
  EXPECT_EQ(ReadFirst("/pic.jpg?id=B"), "/pic.jpg?id=B");
  EXPECT_EQ(reads_, 2);
  EXPECT_EQ(ReadFirst("/pic.jpg?id=A"), "/pic.jpg?id=A");
  EXPECT_EQ(reads_, 2);
  version_ = "ETag: \"2\"\r\n";
  ReadFirst("/pic.jpg?id=A");
  EXPECT_EQ(reads_, 3);
  // Nothing in the cache names the address or its query.
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(spec_.cache_folder)) {
    EXPECT_THAT(file.path().string(), Not(HasSubstr("id=")));
  }
}

TEST_F(WebDataTest, WhatHasNoVersionIsReadAgainInTheNextRun) {
  for (const char* version : {"", "ETag: W/\"weak\"\r\n"}) {
    version_ = version;
    reads_ = 0;
    for (int run = 1; run <= 3; ++run) {
      EXPECT_EQ(ReadFirst("/pic.jpg"), "/pic.jpg");
      EXPECT_EQ(reads_, run);
    }
  }
  // Within a run it is read once.
  const auto data = Open();
  const auto set = data->Objects(endings_, 0);
  reads_ = 0;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*data->Read(set->files[0]), "/pic.jpg");
  EXPECT_EQ(reads_, 1);
  const auto home = data->BringHome(endings_, 0, false, nullptr);
  ASSERT_TRUE(home.ok()) << home.status();
}

// "8" comes after "11": the list was searched as if it were sorted.
TEST_F(WebDataTest, NumbersOfDifferentLengths) {
  spec_.url = absl::StrCat(server_.url(), "/img-{8..11}.jpg");
  const auto data = Open();
  const auto home = data->BringHome(endings_, 0, true, nullptr);
  ASSERT_TRUE(home.ok()) << home.status();
  for (int i = 8; i <= 11; ++i) {
    const std::string name = absl::StrCat("img-", i, ".jpg");
    EXPECT_EQ(*ReadFile(JoinPath(*home, name)), "/" + name);
  }
}

TEST_F(WebDataTest, ASizeThatNoItemHasIsRefused) {
  for (const char* size : {"21474836480", "1099511627776"}) {
    size_ = size;
    spec_.url = absl::StrCat(server_.url(), "/x.jpg?signature=secret");
    const absl::Status status = Open()->Objects(endings_, 0).status();
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("x.jpg: has ", size, " bytes")));
  }
  size_ = "4611686018427387904";
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("one that no object has"));
}

TEST_F(StoreDataTest, NothingOfUseIsSaidSo) {
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("there is nothing"));
  Write("far/readme.txt", "x");
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("has 1 object, but no ."));
}

TEST_F(StoreDataTest, AFolderSaysWhatItHasBesidesItems) {
  Write("far/a.jpg", "a");
  Write("real/b.jpg", "b");
  Write("far/c.tif", "c");
  const std::string far = JoinPath(folder_, "far");
  std::filesystem::create_directory_symlink("../real", far + "/linked");
  std::filesystem::create_symlink("nowhere", far + "/z.jpg");
  const auto set = ListFolder(far, endings_, 0);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->items, 2);
  EXPECT_THAT(
      set->left_out,
      HasSubstr("ignored 2 files: 1 .tif, 1 link that leads nowhere; the"));
  EXPECT_THAT(set->left_out, EndsWith("/far/c.tif"));
}

// The policy names what the native loaders read.
TEST(EndingsTest, ThoseOfThePolicyAreThoseOfTheLoaders) {
  const Catalogue catalogue = *Catalogue::Load("configs");
  std::vector<std::string> endings;
  const auto& images = catalogue.FindMedia("image")->extensions();
  endings.assign(images.begin(), images.end());
  for (const auto& ending : catalogue.policy().loader().array_extensions()) {
    endings.push_back(ending);
  }
  EXPECT_THAT(endings, UnorderedElementsAreArray(ItemNameEndings()));
}

TEST_F(StoreDataTest, OnlyPlainFilesAreData) {
  Write("far/a.jpg", "a");
  ASSERT_EQ(mkfifo(JoinPath(folder_, "far/notes").c_str(), 0600), 0);
  const std::string far = JoinPath(folder_, "far");
  EXPECT_EQ(ListFolder(far, endings_, 0)->items, 1);
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("far/notes: is a named pipe"));
  ASSERT_EQ(unlink(JoinPath(far, "notes").c_str()), 0);
  EXPECT_EQ(Open()->Objects(endings_, 0)->items, 1);
  const std::string odd = JoinPath(folder_, "far/b.jpg");
  ASSERT_EQ(mkfifo(odd.c_str(), 0600), 0);
  EXPECT_THAT(std::string(ListFolder(far, endings_, 0).status().message()),
              HasSubstr("far/b.jpg: is a named pipe"));
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("far/b.jpg: is a named pipe"));
  ASSERT_EQ(unlink(odd.c_str()), 0);
  ASSERT_EQ(symlink("/dev/zero", odd.c_str()), 0);
  EXPECT_THAT(std::string(ListFolder(far, endings_, 0).status().message()),
              HasSubstr("far/b.jpg: is a device"));
  ASSERT_EQ(unlink(odd.c_str()), 0);
  ASSERT_EQ(unlink(JoinPath(folder_, "far/a.jpg").c_str()), 0);
  ASSERT_EQ(mkfifo(JoinPath(folder_, "far/c.tar").c_str(), 0600), 0);
  EXPECT_THAT(std::string(ListFolder(far, endings_, 0).status().message()),
              HasSubstr("far/c.tar: is a named pipe"));
}

// Sparse files take no space; their bytes would have taken all memory.
TEST_F(StoreDataTest, ALocalFileThatNoMemoryHoldsIsRefused) {
  Write("far/a.jpg", "a");
  const std::string far = JoinPath(folder_, "far");
  ASSERT_EQ(truncate(JoinPath(far, "a.jpg").c_str(), int64_t{20} << 30), 0);
  EXPECT_THAT(std::string(ListFolder(far, endings_, 0).status().message()),
              HasSubstr("a.jpg: has 21474836480 bytes"));
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("a.jpg: has 21474836480 bytes"));
  ASSERT_EQ(unlink(JoinPath(far, "a.jpg").c_str()), 0);
  const int64_t bytes = int64_t{6} << 30;
  Write("far/b.tar",
        tar::Builder().Add(tar::MakeHeader('0', "b.jpg", bytes), "").bytes());
  ASSERT_EQ(truncate(JoinPath(far, "b.tar").c_str(), bytes + 1536), 0);
  EXPECT_THAT(std::string(ListFolder(far, endings_, 0).status().message()),
              HasSubstr("b.tar:b.jpg: has 6442450944 bytes"));
  EXPECT_THAT(std::string(Open()->Objects(endings_, 0).status().message()),
              HasSubstr("b.tar:b.jpg: has 6442450944 bytes"));
}

// TFRecord files are mapped, not read into memory.
TEST_F(StoreDataTest, LargeFilesAreBroughtHomeInPieces) {
  Write("far/a.tfrecord", "a");
  const int64_t bytes = (int64_t{1} << 30) + 1;
  ASSERT_EQ(truncate(JoinPath(folder_, "far/a.tfrecord").c_str(), bytes), 0);
  spec_.cache_bytes = int64_t{1} << 30;
  const absl::Status status =
      Open()->BringHome({"tfrecord"}, 0, true, nullptr).status();
  // The size as such is fine; one gigabyte is not written here.
  EXPECT_THAT(std::string(status.message()), HasSubstr("--cache_bytes"));
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

TEST(FileSetsTest, ContainersHoldTheSameItems) {
  const std::string folder = NewFolder("pictures");
  std::vector<std::string> images;
  // More than one file of a container has.
  for (int i = 0; i < 260; ++i) {
    images.push_back(SyntheticFile(*ParseSynthetic("synthetic:ids"), i % 3));
    Write(absl::StrFormat("%s/%03d.jpg", folder, i), images.back());
  }
  const auto set = ListFolder(folder, {"jpg"}, 0);
  ASSERT_TRUE(set.ok()) << set.status();
  const std::string cache = NewFolder("containers");
  for (const std::string container :
       {"files", "shards", "tfrecord", "parquet", "arrays", "lmdb"}) {
    for (const bool again : {false, true}) {
      const auto written = WriteContainer(*set, container, cache, nullptr);
      ASSERT_TRUE(written.ok()) << container << written.status();
      EXPECT_EQ(written->items, 260);
      std::vector<std::string> paths;
      for (const SourceFile& file : written->files) {
        paths.push_back(file.path);
        EXPECT_EQ(file.bytes, *PlainFileBytes(file.path));
      }
      const auto source = container == "shards"     ? ShardSource(paths)
                          : container == "tfrecord" ? TfRecordSource(paths)
                          : container == "parquet"  ? ParquetSource(paths)
                          : container == "lmdb"
                              ? LmdbSource(paths)
                              : FolderSource(ParentFolder(paths[0]));
      ASSERT_TRUE(source.ok()) << source.status();
      ASSERT_EQ((*source)->size(), 260);
      ReadBuffer buffer;
      for (int i = 0; i < 260; ++i) {
        const auto bytes = (*source)->Read(i, &buffer);
        ASSERT_TRUE(bytes.ok()) << bytes.status();
        if (container == "arrays") {
          const auto image = DecodeImage(images[i]);
          EXPECT_EQ(
              ViewNpy(*bytes)->data,
              absl::string_view(reinterpret_cast<const char*>(image->data()),
                                image->size_bytes()));
        } else {
          EXPECT_EQ(*bytes, images[i]) << container << again << i;
        }
      }
      // What is there is kept.
      if (container == "tfrecord" && !again) {
        ASSERT_EQ(paths.size(), 2);
        ASSERT_EQ(unlink(paths[1].c_str()), 0);
      }
    }
  }
}

// The path and the size alone would find the container of the old content.
TEST(FileSetsTest, AContainerFollowsItsFiles) {
  const std::string folder = NewFolder("edited");
  const std::string cache = NewFolder("containers_of_edited");
  for (const char* content : {"old", "new"}) {
    Write(folder + "/a.jpg", content);
    const auto set = ListFolder(folder, {"jpg"}, 0);
    ASSERT_TRUE(set.ok()) << set.status();
    for (const std::string container : {"tfrecord", "lmdb"}) {
      const auto written = WriteContainer(*set, container, cache, nullptr);
      ASSERT_TRUE(written.ok()) << written.status();
      const std::vector<std::string> paths = {written->files[0].path};
      const auto source =
          container == "lmdb" ? LmdbSource(paths) : TfRecordSource(paths);
      ASSERT_TRUE(source.ok()) << source.status();
      ReadBuffer buffer;
      EXPECT_EQ(*(*source)->Read(0, &buffer), content) << container;
    }
  }
}

TEST(FileSetsTest, ContainersSayWhatTheyCannotHave) {
  const std::string cache = NewFolder("containers_of_arrays");
  const std::string folder = NewFolder("odd");
  Write(folder + "/a.npy", "array");
  const auto set = ListFolder(folder, {"npy"}, 0);
  EXPECT_THAT(
      WriteContainer(*set, "parquet", cache, nullptr).status().message(),
      HasSubstr("a.npy: is an array; parquet has encoded images here"));
  EXPECT_THAT(WriteContainer(*set, "zip", cache, nullptr).status().message(),
              HasSubstr("zip"));
  FileSet shards;
  shards.source = "shards";
  EXPECT_THAT(
      WriteContainer(shards, "files", cache, nullptr).status().message(),
      HasSubstr("not from shards"));
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
  EXPECT_EQ(kornia->original, opencv->corpus);
  EXPECT_EQ(corpora_->Get(MakeJob("null"))->corpus, opencv->corpus);
}

TEST_F(InputCorporaTest, NineChannelsAreThreeTimesThree) {
  const auto input = corpora_->Get(MakeJob("opencv", "image-9ch"));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->corpus->item(0).channels, 9);
  // Nobody needs a second copy of all items in this form.
  EXPECT_EQ(input->original->item(0).channels, 3);
}

TEST_F(InputCorporaTest, TooFewImagesAreTheCallersMistake) {
  Job job = MakeJob("opencv");
  job.set_num_items(4);
  const absl::Status status = corpora_->Get(job).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--num_items=3"));
}

TEST_F(InputCorporaTest, AllSkippedFilesAreListed) {
  std::string folder = testing::TempDir() + "/skipped.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(setenv("XDG_CACHE_HOME", JoinPath(folder, "cache").c_str(), 1), 0);
  const std::string images = JoinPath(folder, "images");
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(
        WriteFileAtomically(absl::StrCat(images, "/", i, ".txt"), "x").ok());
  }
  ASSERT_TRUE(
      WriteFileAtomically(JoinPath(images, "z.jpg"), SyntheticJpeg(1, 0)).ok());
  std::vector<std::string> said;
  InputCorpora corpora(*catalogue_, images, nullptr,
                       [&](const std::string& text) { said.push_back(text); });
  Job job = MakeJob("opencv");
  job.set_num_items(1);
  ASSERT_TRUE(corpora.Get(job).ok());
  ASSERT_EQ(said.size(), 6);
  EXPECT_THAT(said[4], HasSubstr("images/4.txt: skipped: "));
  EXPECT_THAT(said[5], HasSubstr(": skipped 7 files; all are in "));
  const std::string list = *ReadFile(said[5].substr(said[5].rfind(' ') + 1));
  EXPECT_THAT(list, HasSubstr("0.txt: is of an unknown format"));
  EXPECT_THAT(list, HasSubstr("6.txt: is of an unknown format"));
  unsetenv("XDG_CACHE_HOME");
  std::filesystem::remove_all(folder);
}

TEST_F(InputCorporaTest, AnIdIsNoPath) {
  Job job = MakeJob("opencv");
  job.set_dataset("val");
  EXPECT_THAT(std::string(corpora_->Get(job).status().message()),
              HasSubstr("--dataset=DIR"));
}

}  // namespace
}  // namespace feedrate
