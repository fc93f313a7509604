#include "lib/model/worker/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "lib/machine/resources.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class ImageFilesTest : public testing::Test {
 protected:
  ImageFilesTest()
      : root_(std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
  }

  void Write(const std::string& name, int bytes = 10) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }

  ImageFolder Folder() const {
    ImageFolder folder;
    folder.path = root_.string();
    folder.classes = 10;
    return folder;
  }

  static std::vector<ImageFile> List(const ImageFolder& folder) {
    const absl::StatusOr<ImageList> list = ListImages(folder);
    EXPECT_TRUE(list.ok()) << list.status();
    return list->files;
  }

  static std::vector<int64_t> Labels(const std::vector<ImageFile>& files) {
    std::vector<int64_t> labels;
    for (const ImageFile& file : files) labels.push_back(file.label);
    return labels;
  }

  const std::filesystem::path root_;
};

TEST_F(ImageFilesTest, AFolderIsAClass) {
  Write("cat/1.jpg");
  Write("cat/2.jpg", 7);
  Write("dog/1.png");
  Write("dog/notes.txt");
  const std::vector<ImageFile> files = List(Folder());
  EXPECT_THAT(Labels(files), ElementsAre(0, 0, 1));
  EXPECT_THAT(files[1].path, EndsWith("cat/2.jpg"));
  EXPECT_EQ(files[1].bytes, 7);
}

TEST_F(ImageFilesTest, InOneFolderClassesGoRound) {
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) Write(name);
  ImageFolder folder = Folder();
  folder.classes = 2;
  EXPECT_THAT(Labels(List(folder)), ElementsAre(0, 1, 0));
}

TEST_F(ImageFilesTest, ProcessesShareAndRatiosCut) {
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"}) {
    Write(name);
  }
  ImageFolder folder = Folder();
  folder.sample_ratio = 0.8;
  folder.rank = 1;
  folder.world_size = 2;
  EXPECT_THAT(Labels(List(folder)), ElementsAre(1, 3));
}

TEST_F(ImageFilesTest, ARatioKeepsEveryClass) {
  for (const char* name :
       {"a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg", "c/1.jpg", "c/2.jpg"}) {
    Write(name);
  }
  ImageFolder folder = Folder();
  folder.sample_ratio = 0.5;
  EXPECT_THAT(Labels(List(folder)), ElementsAre(0, 1, 2));
}

TEST_F(ImageFilesTest, NoSuchFolderHasNoImages) {
  EXPECT_THAT(List(Folder()), IsEmpty());
}

TEST_F(ImageFilesTest, WhatIsNoRegularFileIsNamed) {
  Write("a.jpg");
  std::filesystem::create_symlink("nowhere", root_ / "lost.jpg");
  std::filesystem::create_symlink("a.jpg", root_ / "link.jpg");
  std::filesystem::create_directory(root_ / "folder.jpg");
  ASSERT_EQ(mkfifo((root_ / "pipe.jpg").c_str(), 0600), 0);
  const ImageList list = *ListImages(Folder());
  EXPECT_EQ(list.files.size(), 2);
  EXPECT_THAT(list.special,
              ElementsAre(EndsWith("lost.jpg"), EndsWith("pipe.jpg")));
}

// They were taken modulo the model's classes.
TEST_F(ImageFilesTest, MoreClassesThanTheModelHasAreAnError) {
  for (int i = 0; i < 12; ++i) Write(absl::StrCat("class", i, "/1.jpg"));
  const auto message = [](const absl::Status& status) {
    return std::string(status.message());
  };
  EXPECT_THAT(message(ListImages(Folder()).status()),
              HasSubstr(": has 12 classes, and the model has 10; use"));
  EXPECT_THAT(message(ListLabeledImages(Folder(), {}).status()),
              HasSubstr(": has 12 classes, and the model has 10; use"));
  // Such as those of a checkpoint.
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back(absl::StrCat("class", i));
  EXPECT_THAT(message(ListLabeledImages(Folder(), names).status()),
              HasSubstr(": has 12 classes, and the model has 10; use"));
  std::vector<ImageFile> objects;
  for (const std::string& name : names) objects.push_back({"1", 1, -1, name});
  EXPECT_THAT(message(LabelImages(Folder(), {}, &objects).status()),
              HasSubstr(": has 12 classes, and the model has 10; use"));
}

TEST_F(ImageFilesTest, ClassesAreTheFirstFoldersAlsoThroughLinks) {
  Write("data/b/x/1.jpg");
  Write("data/b/y/2.jpg");
  Write("data/b/notes.txt");
  Write("data/beside.jpg");
  Write("far/3.webp");
  std::filesystem::create_directory_symlink("../far", root_ / "data/a");
  ImageFolder folder = Folder();
  folder.path += "/data";
  const ImageList list = *ListImages(folder);
  EXPECT_THAT(list.classes, ElementsAre("a", "b"));
  EXPECT_THAT(Labels(list.files), ElementsAre(0, 1, 1));
  EXPECT_EQ(list.files[1].folder, "b/x");
  EXPECT_THAT(list.left_out.Text(),
              HasSubstr("ignored 2 files: 1 .txt, 1 beside the class"));
  std::filesystem::create_directory(root_ / "data/empty");
  EXPECT_THAT(std::string(ListImages(folder).status().message()),
              HasSubstr("found no valid file for the classes empty;"));
  // One that the model has may have none here.
  EXPECT_THAT(Labels(ListLabeledImages(folder, {"empty", "a", "b"})->files),
              ElementsAre(1, 2, 2));
  // Objects of a store, of which one is in no folder.
  std::vector<ImageFile> objects = {{"o/1", 1, -1, "o"}, {"2", 1, -1, ""}};
  EXPECT_THAT(std::string(LabelImages(folder, {}, &objects).status().message()),
              HasSubstr("2: is in no folder of a class, and others are"));
}

TEST_F(ImageFilesTest, EveryTrainingFindsTheSameCache) {
  Write("a.jpg", 100000);
  Write("b.jpg", 100000);
  std::vector<ImageFile> files = List(Folder());
  // Large enough that the speed is measured with this file alone.
  files[0].bytes = int64_t{65} << 20;
  ASSERT_TRUE(DropPages({files[0].path, files[1].path}).ok());
  int calls = 0;
  double resident = 0;
  EXPECT_THAT(
      PrepareStorage(
          root_.string(), files, /*cold=*/false, [&] { ++calls; }, &resident),
      MatchesRegex("[a-z0-9]+, [0-9]+ MB/s, 100% cached"));
  EXPECT_EQ(resident, 1);
  EXPECT_EQ(calls, 2);
  PrepareStorage(
      root_.string(), files, /*cold=*/true, [] {}, &resident);
  // File systems in memory keep their pages.
  ASSERT_TRUE(DropPages({files[0].path, files[1].path}).ok());
  EXPECT_EQ(resident, *ResidentFraction({files[0].path, files[1].path}));
}

TEST_F(ImageFilesTest, ALabeledFolderHasTheClassesOfTheModel) {
  Write("dog/1.jpg");
  Write("ant/1.jpg");
  EXPECT_THAT(ListImages(Folder())->classes, ElementsAre("ant", "dog"));
  EXPECT_THAT(Labels(ListLabeledImages(Folder(), {})->files),
              ElementsAre(0, 1));
  // A class that is missing here does not move the others.
  EXPECT_THAT(Labels(ListLabeledImages(Folder(), {"ant", "cat", "dog"})->files),
              ElementsAre(0, 2));
  ImageFolder second = Folder();
  second.rank = 1;
  second.world_size = 2;
  EXPECT_THAT(Labels(ListLabeledImages(second, {})->files), ElementsAre(1));
}

TEST_F(ImageFilesTest, WhatIsNoLabeledFolderIsRefused) {
  const auto mistake = [](const ImageFolder& folder,
                          const std::vector<std::string>& names) {
    return std::string(ListLabeledImages(folder, names).status().message());
  };
  EXPECT_THAT(mistake(Folder(), {}), HasSubstr("no such folder"));
  Write("ant/notes.txt");
  EXPECT_THAT(mistake(Folder(), {}), HasSubstr("has no images"));
  Write("ant/1.jpg");
  Write("dog/1.jpg");
  EXPECT_THAT(mistake(Folder(), {"ant"}),
              HasSubstr("a class \"dog\" that the training does not have"));
  std::filesystem::remove_all(root_);
  Write("1.jpg");
  EXPECT_THAT(mistake(Folder(), {}), HasSubstr("1.jpg: is in no subfolder"));
}

TEST_F(ImageFilesTest, ShardsHaveNumbersOfClasses) {
  const auto shard = [this](const std::string& name, const std::string& label) {
    std::filesystem::create_directories(root_);
    std::ofstream(root_ / name)
        << tar::Builder().File("1.cls", label).File("1.jpg", "image").Finish();
  };
  shard("a.tar", "3\n");
  shard("b.tar", "0");
  const LabeledImages images = *ListLabeledImages(Folder(), {"ant"});
  EXPECT_THAT(images.shards, ElementsAre(EndsWith("a.tar"), EndsWith("b.tar")));
  EXPECT_THAT(Labels(images.files), ElementsAre(3, 0));
  EXPECT_EQ(images.files[0].folder, "a.tar");
  EXPECT_THAT(images.files[1].path, EndsWith("b.tar:1.jpg"));
  ImageFolder alone = Folder();
  alone.path = (root_ / "a.tar").string();
  EXPECT_THAT(Labels(ListLabeledImages(alone, {})->files), ElementsAre(3));
  ImageFolder second = Folder();
  second.world_size = 2;
  const auto mistake = [](const ImageFolder& folder) {
    return std::string(ListLabeledImages(folder, {}).status().message());
  };
  EXPECT_THAT(mistake(second), HasSubstr("shards are for one process"));
  shard("a.tar", "10");
  EXPECT_THAT(mistake(Folder()), HasSubstr("a.tar:1.jpg: is of class 10, and"));
  shard("a.tar", "ant");
  EXPECT_THAT(mistake(Folder()), HasSubstr("needs one in a member .cls"));
  std::ofstream(root_ / "a.tar") << "no archive";
  EXPECT_THAT(mistake(Folder()), HasSubstr("not a whole tar archive"));
}

TEST(ClassesTest, NamesSurviveACheckpoint) {
  const std::vector<std::string> names = {"a", " b\n%2", "größe", "x/y"};
  EXPECT_EQ(ClassesOfMeta(MetaOfClasses(names)), names);
  EXPECT_EQ(MetaOfClasses(names).at("class.1"), "%20b%0a%252");
}

}  // namespace
}  // namespace feedrate
