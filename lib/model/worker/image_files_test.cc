#include "lib/model/worker/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
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
  const std::vector<ImageFile> files = ListImages(Folder());
  EXPECT_THAT(Labels(files), ElementsAre(0, 0, 1));
  EXPECT_THAT(files[1].path, EndsWith("cat/2.jpg"));
  EXPECT_EQ(files[1].bytes, 7);
}

TEST_F(ImageFilesTest, InOneFolderClassesGoRound) {
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) Write(name);
  ImageFolder folder = Folder();
  folder.classes = 2;
  EXPECT_THAT(Labels(ListImages(folder)), ElementsAre(0, 1, 0));
}

TEST_F(ImageFilesTest, ProcessesShareAndRatiosCut) {
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"}) {
    Write(name);
  }
  ImageFolder folder = Folder();
  folder.sample_ratio = 0.8;
  folder.rank = 1;
  folder.world_size = 2;
  EXPECT_THAT(Labels(ListImages(folder)), ElementsAre(1, 3));
}

TEST_F(ImageFilesTest, NoSuchFolderHasNoImages) {
  EXPECT_THAT(ListImages(Folder()), IsEmpty());
}

TEST_F(ImageFilesTest, StorageSaysWhereHowFastAndFromWhat) {
  Write("a.jpg", 100000);
  EXPECT_THAT(StorageLabel(root_.string(), ListImages(Folder())),
              MatchesRegex("[a-z0-9]+, [0-9]+ MB/s, [0-9]+% cached"));
}

}  // namespace
}  // namespace feedrate
