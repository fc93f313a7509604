#include "lib/model/worker/image_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/storage/object_store.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ImageDataTest : public testing::Test {
 protected:
  ImageDataTest()
      : root_(std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
  }

  void Write(const std::string& name, const std::string& bytes) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << bytes;
  }

  ImageFolder Folder(const std::string& name = "") const {
    ImageFolder folder;
    folder.path = (root_ / name).string();
    folder.classes = 10;
    return folder;
  }

  // The folder as a store.
  static std::map<std::string, std::string> Store(const ImageFolder& folder) {
    StoreSpec spec;
    spec.url = "file://" + folder.path;
    return PrintStoreSpec(spec);
  }

  // The bytes that the source reads, which are the names in these tests.
  static std::vector<std::string> Contents(const ImageData& data) {
    std::vector<std::string> contents;
    ReadBuffer buffer;
    for (int64_t i = 0; i < data.source->size(); ++i) {
      contents.emplace_back(data.source->Read(i, &buffer).value());
    }
    return contents;
  }

  static std::vector<int64_t> Labels(const ImageData& data) {
    std::vector<int64_t> labels;
    for (const ImageFile& file : data.files) labels.push_back(file.label);
    return labels;
  }

  const std::filesystem::path root_;
};

TEST_F(ImageDataTest, AStoreHasTheClassesAndTheOrderOfItsFolder) {
  for (const char* name : {"a-b/1.jpg", "a/2.jpg", "c/3.png"}) {
    Write(name, name);
  }
  for (const bool is_store : {false, true}) {
    const ImageData data =
        OpenImageData(Folder(), is_store ? Store(Folder())
                                         : std::map<std::string, std::string>())
            .value();
    EXPECT_THAT(data.classes, ElementsAre("a", "a-b", "c"));
    EXPECT_THAT(Labels(data), ElementsAre(0, 1, 2));
    EXPECT_THAT(Contents(data), ElementsAre("a/2.jpg", "a-b/1.jpg", "c/3.png"));
    EXPECT_EQ(data.files[1].bytes, 9);
    EXPECT_EQ(data.local.size(), is_store ? 0 : 3);
    EXPECT_EQ(data.source->remote() != nullptr, is_store);
  }
}

TEST_F(ImageDataTest, FoldersInShardsAreClasses) {
  Write("0.tar", tar::Builder().File("dog/1.jpg", "1").Finish());
  Write("1.tar", tar::Builder()
                     .File("cat/2.jpg", "2")
                     .File("dog/3.jpg", "3")
                     .File("cat/4.jpg", "4")
                     .Finish());
  for (const bool is_store : {false, true}) {
    ImageFolder second = Folder();
    second.world_size = 2;
    second.rank = 1;
    const auto store =
        is_store ? Store(second) : std::map<std::string, std::string>();
    const ImageData data = OpenImageData(second, store).value();
    EXPECT_THAT(data.classes, ElementsAre("cat", "dog"));
    EXPECT_THAT(Labels(data), ElementsAre(0, 0));
    EXPECT_THAT(Contents(data), ElementsAre("2", "4"));
    EXPECT_THAT(data.source->name(1), EndsWith("1.tar:cat/4.jpg"));
  }
  // One of them, and a list.
  EXPECT_THAT(Contents(OpenImageData(Folder("0.tar"), {}).value()),
              ElementsAre("1"));
  const ImageData both = OpenImageData(Folder("{0..1}.tar"), {}).value();
  EXPECT_THAT(Contents(both), ElementsAre("1", "2", "3", "4"));
  EXPECT_EQ(both.local.size(), 2);
  EXPECT_GT(both.local[1].bytes, 1024);
}

TEST_F(ImageDataTest, NumbersInShardsAreClasses) {
  Write("0.tar", tar::Builder()
                     .File("dog/1.jpg", "1")
                     .File("dog/1.cls", "7")
                     .File("cat/2.cls", "3")
                     .File("cat/2.jpg", "2")
                     .Finish());
  for (const bool is_store : {false, true}) {
    const auto store =
        is_store ? Store(Folder()) : std::map<std::string, std::string>();
    const ImageData data = OpenImageData(Folder(), store).value();
    EXPECT_THAT(data.classes, IsEmpty());
    EXPECT_THAT(Labels(data), ElementsAre(7, 3));
    ImageFolder few = Folder();
    few.classes = 5;
    EXPECT_THAT(std::string(OpenImageData(few, store).status().message()),
                HasSubstr("0.tar:dog/1.jpg: is of class 7, and the model has "
                          "classes 0 to 4"));
  }
  EXPECT_EQ(OpenImageData(Folder(), {})->note, "");
  Write("1.tar", tar::Builder().File("cat/5.jpg", "5").Finish());
  for (const bool is_store : {false, true}) {
    const auto store =
        is_store ? Store(Folder()) : std::map<std::string, std::string>();
    EXPECT_THAT(std::string(OpenImageData(Folder(), store).status().message()),
                HasSubstr("1.tar:cat/5.jpg: has no number of a class"));
  }
}

TEST_F(ImageDataTest, ClassesAreNotMadeUpInSilence) {
  Write("0.tar", tar::Builder().File("1.jpg", "1").File("2.jpg", "2").Finish());
  EXPECT_EQ(OpenImageData(Folder(), {})->note, ", classes in turn");
  EXPECT_EQ(OpenImageData(Folder(), Store(Folder()))->note,
            ", classes in turn");
  Write("flat/1.jpg", "1");
  Write("flat/notes.txt", "ignored");
  const ImageFolder flat = Folder("flat");
  EXPECT_EQ(OpenImageData(flat, Store(flat))->note,
            ", ignored 1, classes in turn");
  std::filesystem::remove_all(root_ / "flat");
  Write("0.tar",
        tar::Builder().File("1.jpg", "1").File("1.cls", "ant").Finish());
  for (const bool is_store : {false, true}) {
    const auto store =
        is_store ? Store(Folder()) : std::map<std::string, std::string>();
    EXPECT_THAT(std::string(OpenImageData(Folder(), store).status().message()),
                HasSubstr("0.tar:1.jpg: has no number of a class; it needs one "
                          "in a member .cls"));
  }
}

TEST_F(ImageDataTest, WhatIsNotThereIsNamed) {
  Write("notes.txt", "none");
  EXPECT_THAT(
      std::string(OpenImageData(Folder(), Store(Folder())).status().message()),
      HasSubstr("has 1 object, but no .jpg"));
  EXPECT_THAT(
      std::string(OpenImageData(Folder("{0..1}.tar"), {}).status().message()),
      HasSubstr("0.tar: "));
  EXPECT_THAT(OpenImageData(Folder(), {}).value().files, IsEmpty());
}

}  // namespace
}  // namespace feedrate
