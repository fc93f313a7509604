#include "lib/loader/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/loader/loader.h"
#include "lib/loader/source/container_source.h"
#include "lib/loader/source/data_folder.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/small_corpus.h"
#include "lib/storage/lmdb.h"
#include "lib/storage/parquet/parquet.h"
#include "lib/storage/tfrecord.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Contents(const Source& source) {
  std::vector<std::string> contents;
  ReadBuffer buffer;
  for (int64_t i = 0; i < source.size(); ++i) {
    const auto bytes = source.Read(i, &buffer);
    contents.push_back(bytes.ok() ? std::string(*bytes)
                                  : std::string(bytes.status().message()));
  }
  return contents;
}

TEST(FileSourceTest, ReadsAndMapsTheItemsOfAFolder) {
  const std::string folder = NewTestFolder();
  WriteTestFile(folder, "b.JPG", "bee");
  WriteTestFile(folder, "a.npy", "array");
  WriteTestFile(folder, "empty.png", "");
  WriteTestFile(folder, "label.txt", "no item");
  for (const FileAccess access : {FileAccess::kRead, FileAccess::kMap}) {
    const auto source = FolderSource(folder, access);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_THAT(Contents(**source), ElementsAre("array", "bee", ""));
    EXPECT_THAT((*source)->name(1), HasSubstr("b.JPG"));
  }
  EXPECT_FALSE(FolderSource(folder + "/none").ok());
}

// The same tree as test_folders_are_read_as_by_torchvision (torch_test.py).
TEST(DataFolderTest, FoldersAreReadAsByImageFolder) {
  const std::string folder = NewTestFolder();
  const std::string root = JoinPath(folder, "data");
  ASSERT_TRUE(MakeFolder(JoinPath(root, "b/deep/er")).ok());
  ASSERT_TRUE(MakeFolder(JoinPath(root, "a-b")).ok());
  ASSERT_TRUE(MakeFolder(JoinPath(folder, "far")).ok());
  for (const char* name :
       {"data/b/1.jpg", "data/b/deep/er/2.PNG", "data/a-b/3.webp", "far/4.bmp",
        "data/b/x.tif", "data/b/y.tif", "data/notes", "data/a.jpg"}) {
    WriteTestFile(folder, name, "x");
  }
  ASSERT_EQ(symlink("../far", JoinPath(root, "c").c_str()), 0);
  ASSERT_EQ(symlink("..", JoinPath(root, "b/loop").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", JoinPath(root, "a-b/5.jpg").c_str()), 0);
  DataFolder listing = *ListDataFolder(root);
  EXPECT_EQ(listing.paths.size(), 6);
  KeepClassified(root, &listing);
  EXPECT_THAT(
      listing.paths,
      ElementsAre(root + "/a-b/3.webp", root + "/a-b/5.jpg", root + "/b/1.jpg",
                  root + "/b/deep/er/2.PNG", root + "/c/4.bmp"));
  EXPECT_THAT(listing.folders, ElementsAre("a-b", "b", "c"));
  EXPECT_EQ(listing.left_out.Text(),
            absl::StrCat("ignored 5 files: 2 .tif, 1 beside the class folders, "
                         "1 link to a folder that it is in, 1 without an "
                         "ending; the first is ",
                         root, "/b/x.tif"));
  std::vector<std::string> class_of;
  for (const std::string& path : listing.paths) {
    class_of.push_back(ClassFolder(path, root));
  }
  const ItemClasses classes =
      *NumberClasses(root, class_of, listing.folders, {});
  EXPECT_THAT(classes.names, ElementsAre("a-b", "b", "c"));
  EXPECT_THAT(classes.labels, ElementsAre(0, 0, 1, 1, 2));
  // A link that leads nowhere is an item that cannot be read.
  for (const FileAccess access : {FileAccess::kRead, FileAccess::kMap}) {
    EXPECT_THAT(Contents(**FolderSource(listing, access)),
                ElementsAre("x", HasSubstr("cannot open: No such file"), "x",
                            "x", "x"));
  }
}

TEST(DataFolderTest, ClassesAreThoseOfFoldersOrKnown) {
  const auto number = [](const std::vector<std::string>& class_of,
                         const std::vector<std::string>& folders,
                         const std::vector<std::string>& known) {
    return NumberClasses("data", class_of, folders, known);
  };
  // ImageFolder counts an empty folder, and refuses it.
  const absl::Status empty = number({"a", "c"}, {"a", "b", "c"}, {}).status();
  EXPECT_TRUE(absl::IsNotFound(empty));
  EXPECT_THAT(std::string(empty.message()),
              HasSubstr("data: found no valid file for the classes b;"));
  EXPECT_THAT(number({"c", "a"}, {"a", "c"}, {"a", "b", "c"})->labels,
              ElementsAre(2, 0));
  EXPECT_THAT(number({"a"}, {"a", "b"}, {"b", "a"})->labels, ElementsAre(1));
  EXPECT_THAT(std::string(number({"a", "z"}, {}, {"a"}).status().message()),
              HasSubstr("a class \"z\" that the training does not have"));
  EXPECT_THAT(std::string(number({"a"}, {}, {"a", "a"}).status().message()),
              HasSubstr("named twice"));
  EXPECT_THAT(std::string(number({""}, {}, {"a"}).status().message()),
              HasSubstr("no item is in the folder of a class"));
  // Without any, there are no labels; a folder of something else is not a
  // class.
  EXPECT_THAT(number({"", ""}, {"other"}, {})->labels, ElementsAre(-1, -1));
  EXPECT_THAT(number({"", "a"}, {}, {})->labels, ElementsAre(-1, 0));
}

TEST(DataFolderTest, TheClassIsTheFirstFolderBelowTheDataSet) {
  EXPECT_EQ(ClassFolder("/data/a/b/1.jpg", "/data"), "a");
  EXPECT_EQ(ClassFolder("/data/a/1.jpg", "/data/"), "a");
  EXPECT_EQ(ClassFolder("/data/1.jpg", "/data"), "");
  EXPECT_EQ(ClassFolder("/other/a/1.jpg", "/data"), "");
  EXPECT_EQ(ClassFolder("x/s.tar:a/b/1.jpg", "y"), "a");
  EXPECT_EQ(ClassFolder("x/s.tar:1.jpg", "x"), "");
  EXPECT_EQ(ClassFolder("s3://b/p/a/1.jpg", "s3://b/p"), "a");
  EXPECT_EQ(ClassFolder("http://h/a/1.jpg", "http://h/{a,b}/1.jpg"), "a");
}

TEST(FileSourceTest, SaysWhatIsWrongWithAFile) {
  const std::string folder = NewTestFolder();
  const std::string path = WriteTestFile(folder, "a.jpg", "short");
  for (const FileAccess access : {FileAccess::kRead, FileAccess::kMap}) {
    const auto source =
        ListSource({{path, 9}, {folder + "/none.jpg", 5}}, access);
    const std::vector<std::string> contents = Contents(*source);
    EXPECT_THAT(contents[0], HasSubstr("has 5 bytes, not the 9"));
    EXPECT_THAT(contents[1], HasSubstr("cannot open: No such file"));
  }
}

TEST(ShardSourceTest, FindsImagesByWebDatasetNames) {
  const std::string folder = NewTestFolder();
  const std::string a = WriteTestFile(
      folder, "a.tar",
      tar::Builder()
          .Folder("d")
          .File("d.x/0001.cls", "7")
          .File("d.x/0001.jpg", std::string(5000, 'j'))
          .File("d.x/0001.seg.png", "second image of the sample")
          .File("d.x/0002.npy", "n")
          .File("d.x/0002.cls", "12\n")
          .File("d.x/0003.cls", "13")
          .File("d.x/0004.npy", "m")
          .File("d.x/0004.cls", absl::StrCat("1", std::string(19, ' '), "2"))
          .File("d.x/0005.cls", "cat")
          .File("d.x/0005.jpg", "j")
          .Finish());
  const std::string b =
      WriteTestFile(folder, "b.tar",
                    tar::Builder()
                        .Pax("path", std::string(150, 'p') + ".jpeg")
                        .File("short", "long name")
                        .Finish());
  const auto source = ShardSource({a, b});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Contents(**source),
              ElementsAre(std::string(5000, 'j'), "n", "m", "j", "long name"));
  EXPECT_EQ((*source)->name(0), a + ":d.x/0001.jpg");
  EXPECT_EQ((*source)->label(0), 7);
  EXPECT_EQ((*source)->label(1), 12);
  EXPECT_EQ((*source)->label(2), kNoNumber)
      << "its first bytes are another number";
  EXPECT_EQ((*source)->label(3), kNoNumber);
  EXPECT_EQ((*source)->label(4), -1);
}

TEST(ShardSourceTest, WhatIsNoNumberIsNoLabel) {
  EXPECT_EQ(ParseLabel(" 7\n"), 7);
  EXPECT_EQ(ParseLabel("-1"), -1);
  for (const char* text : {"", "cat", "1.0", "-2", "99999999999999999999"}) {
    EXPECT_EQ(ParseLabel(text), kNoNumber) << text;
  }
}

TEST(FolderSourceTest, OnlyPlainFilesAreItems) {
  const std::string folder = NewTestFolder();
  WriteTestFile(folder, "a.jpg", "a");
  ASSERT_EQ(mkfifo((folder + "/notes").c_str(), 0600), 0);
  EXPECT_EQ((*FolderSource(folder, FileAccess::kRead))->size(), 1);
  ASSERT_EQ(symlink("/dev/zero", (folder + "/b.jpg").c_str()), 0);
  EXPECT_THAT(
      std::string(FolderSource(folder, FileAccess::kRead).status().message()),
      HasSubstr("b.jpg: is a device"));
}

// A sparse file takes no space; its bytes would have taken all memory.
TEST(ListSourceTest, AnItemThatNoMemoryHoldsIsUnusable) {
  const std::string folder = NewTestFolder();
  const std::string path = WriteTestFile(folder, "a.jpg", "a");
  ASSERT_EQ(truncate(path.c_str(), int64_t{20} << 30), 0);
  for (const FileAccess access : {FileAccess::kRead, FileAccess::kMap}) {
    EXPECT_THAT(Contents(*ListSource({{path, -1}}, access))[0],
                HasSubstr("has 21474836480 bytes, and an item may have"));
  }
  // In a tar file.
  const std::string shard = WriteTestFile(
      folder, "b.tar",
      tar::Builder()
          .Add(tar::MakeHeader('0', "b.jpg", int64_t{6} << 30), "")
          .bytes());
  ASSERT_EQ(truncate(shard.c_str(), (int64_t{6} << 30) + 1536), 0);
  const auto source = ShardSource({shard});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Contents(**source)[0], HasSubstr("an item may have"));
}

TEST(ShardSourceTest, NamesAShardThatIsBroken) {
  const std::string folder = NewTestFolder();
  const std::string whole =
      tar::Builder().File("a.jpg", std::string(3000, 'j')).Finish();
  const std::string cut =
      WriteTestFile(folder, "cut.tar", whole.substr(0, 2000));
  EXPECT_THAT(std::string(ShardSource({cut}).status().message()),
              HasSubstr("cut.tar: is not a whole tar"));
  const std::string other =
      WriteTestFile(folder, "other.tar", std::string(1024, 'x'));
  EXPECT_THAT(std::string(ShardSource({other}).status().message()),
              HasSubstr("other.tar"));
  EXPECT_TRUE(absl::IsNotFound(ShardSource({folder + "/none"}).status()));
}

TEST(MemorySourceTest, ShowsTheCorpusInPlace) {
  const Corpus corpus = SmallCorpus(9);
  const auto source = MemorySource(corpus);
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_TRUE((*source)->in_memory());
  ASSERT_EQ((*source)->size(), 2);
  const PixelView pixels = (*source)->Pixels(1);
  EXPECT_EQ(pixels.data, corpus.image(1).data);
  EXPECT_EQ(pixels.channels, 9);
  EXPECT_EQ(pixels.stride, corpus.image(1).width * 9);
}

TEST(ArraySourceTest, ItemsFollowEachOther) {
  const std::vector<uint8_t> bytes(3 * 2 * 5 * 4);
  const auto source = ArraySource(bytes.data(), 3, 2, 5, 4);
  EXPECT_EQ(source->size(), 3);
  EXPECT_EQ(source->name(2), "item 2");
  ASSERT_TRUE(source->in_memory());
  const PixelView pixels = source->Pixels(2);
  EXPECT_EQ(pixels.data, bytes.data() + 2 * 2 * 5 * 4);
  EXPECT_EQ(pixels.stride, 5 * 4);
  EXPECT_EQ(pixels.height, 2);
  EXPECT_EQ(pixels.width, 5);
  EXPECT_EQ(pixels.channels, 4);
}

// A record with an image in `feature`, between other features.
std::string ImageRecord(const std::string& feature, const std::string& image,
                        int64_t label) {
  ExampleBuilder example;
  example.AddBytes("image/filename", {"a.jpg"});
  example.AddBytes(feature, {image});
  example.AddIntegers("image/class/label", {label});
  std::string record;
  AppendTfRecord(example.Serialized(), &record);
  return record;
}

TEST(TfRecordSourceTest, FindsImagesInExamples) {
  const std::string folder = NewTestFolder();
  const std::string big(5000, 'j');
  const std::string a = WriteTestFile(folder, "a.tfrecord",
                                      ImageRecord("image/encoded", big, 7) +
                                          ImageRecord("image/encoded", "", 0));
  const std::string b =
      WriteTestFile(folder, "b.tfrecord", ImageRecord("image", "tfds", 3));
  const auto source = TfRecordSource({a, b});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Contents(**source), ElementsAre(big, "", "tfds"));
  EXPECT_EQ((*source)->name(1), a + ":record 1");
  EXPECT_EQ((*source)->label(0), 7);
  EXPECT_EQ((*source)->label(2), 3);
  EXPECT_TRUE((*source)->has_places());
}

TEST(TfRecordSourceTest, SaysWhatIsWrong) {
  const std::string folder = NewTestFolder();
  const std::string good = ImageRecord("image/encoded", "good", 1);
  const auto error = [&](const std::string& bytes) {
    const std::string path = WriteTestFile(folder, "x.tfrecord", bytes);
    return std::string(TfRecordSource({path}).status().message());
  };
  EXPECT_THAT(error(good + good.substr(0, good.size() - 1)),
              HasSubstr("x.tfrecord"));
  EXPECT_THAT(error(good + ImageRecord("frame", "other", 1)),
              HasSubstr("x.tfrecord:record 1: "));
  EXPECT_THAT(error(""),
              HasSubstr("x.tfrecord: is not a plain file, or empty"));
  EXPECT_THAT(TfRecordSource({folder + "/none"}).status().message(),
              HasSubstr("none: cannot open: No such file"));
}

TEST(LmdbSourceTest, FindsValuesByTheirKeys) {
  const std::string folder = NewTestFolder();
  const std::string path = WriteTestFile(folder, "a.mdb", "");
  const std::string big(5000, 'j');
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  LmdbWriter writer(file, path);
  ASSERT_TRUE(writer.Add("a\n", big).ok());
  ASSERT_TRUE(writer.Add("b", "small").ok());
  ASSERT_TRUE(writer.Finish().ok());
  close(file);
  const auto source = LmdbSource({path, path});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Contents(**source), ElementsAre(big, "small", big, "small"));
  EXPECT_EQ((*source)->name(0), path + ":a\\n");
  EXPECT_TRUE((*source)->has_places());
  EXPECT_THAT(
      LmdbSource({WriteTestFile(folder, "x.mdb", big)}).status().message(),
      HasSubstr("x.mdb: is no LMDB file"));
}

TEST(ParquetSourceTest, FindsImagesInPlainPages) {
  const std::string folder = NewTestFolder();
  const std::string big(5000, 'j');
  const std::string a = WriteTestFile(
      folder, "a.parquet", WriteParquetImages({{big, "a"}, {"b", "b"}}));
  const std::string b =
      WriteTestFile(folder, "b.parquet", WriteParquetImages({{"c", "c"}}));
  const auto source = ParquetSource({a, b});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(Contents(**source), ElementsAre(big, "b", "c"));
  EXPECT_EQ((*source)->name(2), b + ":row 0");
  EXPECT_EQ((*source)->label(0), -1);
  EXPECT_TRUE((*source)->has_places());
  EXPECT_THAT(ParquetSource({WriteTestFile(folder, "x.parquet", big)})
                  .status()
                  .message(),
              HasSubstr("x.parquet: is no Parquet file"));
}

// Files that pyarrow wrote: row i has the bytes i and 0.
TEST(ParquetSourceTest, UnpacksPages) {
  const std::string corpus = "lib/storage/parquet/parquet_fuzz_corpus/";
  for (const char* name :
       {"snappy", "plain", "groups", "pages", "gzip", "zstd"}) {
    const std::string path = corpus + name + ".parquet";
    const auto source = ParquetSource({path, path});
    ASSERT_TRUE(source.ok()) << source.status();
    const std::vector<std::string> contents = Contents(**source);
    ASSERT_EQ(contents.size(), 40);
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(contents[i], std::string({static_cast<char>(i % 20), 0}));
    }
    EXPECT_EQ((*source)->name(29), path + ":row 9");
    EXPECT_EQ((*source)->has_places(), name == std::string("plain"));
    // From behind, so that groups are read again.
    ReadBuffer buffer;
    for (int64_t i = 39; i >= 0; --i) {
      EXPECT_EQ((*source)->Read(i, &buffer)->front(), i % 20);
      const ItemPlace place = (*source)->Place(i);
      char byte = 0;
      EXPECT_EQ(pread(place.fd, &byte, 1, place.offset), 1);
    }
  }
  EXPECT_THAT(ParquetSource({corpus + "brotli.parquet"}).status().message(),
              HasSubstr("brotli.parquet: column image/bytes is compressed"));
}

}  // namespace
}  // namespace feedrate
