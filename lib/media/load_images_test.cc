#include "lib/media/load_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/base/files.h"
#include "lib/media/image_file.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// Each test has its own folder.
class LoadImagesTest : public ::testing::Test {
 protected:
  LoadImagesTest()
      : folder_(
            ::testing::TempDir() + "/load_images/" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(MakeFolder(folder_).ok());
  }
  void Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(MakeFolder(ParentFolder(path)).ok());
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  }
  void CopyTestdata(const std::string& name, const std::string& to) {
    Write(to, ReadFile("lib/media/testdata/" + name).value());
  }
  LoadedImages Load(int64_t num_items) {
    LoadRequest request;
    request.dataset = folder_;
    request.num_items = num_items;
    absl::StatusOr<LoadedImages> loaded = LoadImages(request);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return std::move(loaded).value();
  }

  const std::string folder_;
};

void ExpectSamePixels(const ImageView& a, const ImageView& b) {
  ASSERT_EQ(a.height, b.height);
  ASSERT_EQ(a.width, b.width);
  EXPECT_EQ(std::memcmp(a.data, b.data, a.size_bytes()), 0);
}

TEST_F(LoadImagesTest, LoadsBySortedPathAndSaysWhatItSkipped) {
  CopyTestdata("photo.jpg", "b/2.jpg");
  CopyTestdata("truncated.jpg", "b/1.jpg");
  CopyTestdata("animated.webp", "a/other.jpg");
  CopyTestdata("rgb.png", "a/x.png");
  Write("a/words.txt", "no image");
  CopyTestdata("progressive.jpg", "c.jpg");
  Write("d.jpg", SyntheticJpeg(1, 3));
  ASSERT_EQ(mkfifo((folder_ + "/a/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", folder_ + "/a/dangling");

  const LoadedImages loaded = Load(3);
  ASSERT_EQ(loaded.corpus.size(), 3);
  EXPECT_EQ(loaded.files, 3);
  ExpectSamePixels(
      loaded.corpus.image(0),
      DecodeImage(*ReadFile("lib/media/testdata/rgb.png"))->view());
  ExpectSamePixels(
      loaded.corpus.image(1),
      DecodeImage(*ReadFile("lib/media/testdata/photo.jpg"))->view());
  ExpectSamePixels(
      loaded.corpus.image(2),
      DecodeImage(*ReadFile("lib/media/testdata/progressive.jpg"))->view());
  ASSERT_EQ(loaded.skipped.size(), 5);
  EXPECT_EQ(loaded.skipped[0].name, "a/dangling");
  EXPECT_THAT(loaded.skipped[0].reason, HasSubstr("cannot be opened"));
  EXPECT_EQ(loaded.skipped[1].name, "a/other.jpg");
  EXPECT_THAT(loaded.skipped[1].reason, HasSubstr("WebP"));
  EXPECT_EQ(loaded.skipped[2].name, "a/pipe");
  EXPECT_THAT(loaded.skipped[2].reason, HasSubstr("no plain file"));
  EXPECT_EQ(loaded.skipped[3].name, "a/words.txt");
  EXPECT_EQ(loaded.skipped[4].name, "b/1.jpg");
  EXPECT_THAT(loaded.skipped[4].reason, HasSubstr("Premature end"));
  EXPECT_EQ(loaded.id, "LoadsBySortedPathAndSaysWhatItSkipped");
}

TEST_F(LoadImagesTest, LoadsAllWithZeroAndWhatThereIsWithTooMany) {
  CopyTestdata("photo.jpg", "1.jpg");
  CopyTestdata("truncated.png", "2.png");
  CopyTestdata("rgb.png", "3.png");
  EXPECT_EQ(Load(0).corpus.size(), 2);
  EXPECT_EQ(Load(100).corpus.size(), 2);
  EXPECT_EQ(Load(1).skipped.size(), 0);
}

TEST_F(LoadImagesTest, DigestIsOfNamesAndContentsUsed) {
  CopyTestdata("photo.jpg", "1.jpg");
  CopyTestdata("rgb.png", "2.png");
  const std::string two = Load(2).sha256;
  EXPECT_EQ(two.size(), 64);
  EXPECT_NE(Load(1).sha256, two);
  Write("3.txt", "not used");
  EXPECT_EQ(Load(0).sha256, two);
  CopyTestdata("rgba.png", "2.png");
  EXPECT_NE(Load(2).sha256, two);
  CopyTestdata("rgb.png", "2.png");
  EXPECT_EQ(Load(2).sha256, two);
  std::filesystem::rename(folder_ + "/2.png", folder_ + "/20.png");
  EXPECT_NE(Load(2).sha256, two);
}

TEST_F(LoadImagesTest, FilesOfStageDatasetAreNoData) {
  CopyTestdata("photo.jpg", "val/1.jpg");
  CopyTestdata("photo.jpg", "val/.stage_dataset.jpg");
  Write(".stage_dataset.done", "{}");
  Write("val/.stage_dataset.journal", "0");
  const LoadedImages loaded = Load(0);
  EXPECT_EQ(loaded.corpus.size(), 1);
  EXPECT_TRUE(loaded.skipped.empty());
}

TEST_F(LoadImagesTest, ExtensionsLimitWhatIsTried) {
  CopyTestdata("photo.jpg", "1.JPG");
  CopyTestdata("rgb.png", "2.png");
  LoadRequest request;
  request.dataset = folder_;
  request.extensions = {".jpg", ".jpeg"};
  const absl::StatusOr<LoadedImages> loaded = LoadImages(request);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->corpus.size(), 1);
  EXPECT_TRUE(loaded->skipped.empty());
}

TEST_F(LoadImagesTest, HeadersLongerThanUsualAreRead) {
  // A comment segment after the start marker that fills the first read.
  const std::string photo = *ReadFile("lib/media/testdata/photo.jpg");
  const std::string comment =
      std::string("\xff\xfe\xff\xff", 4) + std::string(65533, 'c');
  Write("1.jpg", photo.substr(0, 2) + comment + photo.substr(2));
  EXPECT_EQ(Load(1).corpus.image(0).width, 17);
}

TEST_F(LoadImagesTest, NothingToLoadIsAnErrorWithTheReason) {
  LoadRequest request;
  request.dataset = folder_;
  EXPECT_THAT(std::string(LoadImages(request).status().message()),
              HasSubstr("no image that can be read among 0 files"));
  CopyTestdata("truncated.jpg", "1.jpg");
  EXPECT_THAT(std::string(LoadImages(request).status().message()),
              HasSubstr("1.jpg: JPEG: Premature end"));
  request.dataset = folder_ + "/absent";
  EXPECT_THAT(std::string(LoadImages(request).status().message()),
              HasSubstr("no such folder"));
}

TEST(LoadSyntheticTest, IsTheFilesDecoded) {
  LoadRequest request;
  request.dataset = "synthetic:rgb,n=5,seed=9";
  request.threads = 2;
  int64_t last = 0;
  request.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, ++last);
    EXPECT_EQ(total, 5);
  };
  const absl::StatusOr<LoadedImages> loaded = LoadImages(request);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(last, 5);
  EXPECT_EQ(loaded->id, "synthetic:rgb,n=5,seed=9");
  EXPECT_EQ(loaded->files, 5);
  int64_t bytes = 0;
  for (int64_t i = 0; i < 5; ++i) {
    const std::string jpeg = SyntheticJpeg(9, i);
    bytes += static_cast<int64_t>(jpeg.size());
    ExpectSamePixels(loaded->corpus.image(i), DecodeImage(jpeg)->view());
  }
  EXPECT_EQ(loaded->bytes, bytes);
}

TEST(LoadSyntheticTest, NumItemsIsTheNumberWhereNoneIsSaid) {
  LoadRequest request;
  request.dataset = "synthetic:rgb";
  EXPECT_THAT(std::string(LoadImages(request).status().message()),
              HasSubstr("how many?"));
  request.num_items = 3;
  EXPECT_EQ(LoadImages(request)->corpus.size(), 3);
  request.dataset = "synthetic:rgb,n=2";
  EXPECT_EQ(LoadImages(request)->corpus.size(), 2);
}

TEST(LoadSyntheticTest, WhatDoesNotFitNamesWhatDoes) {
  LoadRequest request;
  request.dataset = "synthetic:rgb,n=1000000";
  request.memory_bytes = int64_t{1} << 30;
  const absl::Status status = LoadImages(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("num_items=1"));
}

TEST(ParallelTest, DoesEachItemOnceWhateverTheThreads) {
  for (int threads : {0, 1, 2, 7}) {
    for (int64_t count : {0, 1, 5, 1000}) {
      std::vector<int> calls(count);
      ParallelFor(count, threads, [&](int64_t i) { ++calls[i]; });
      EXPECT_EQ(calls, std::vector<int>(count, 1));
    }
  }
}

// Until the end of a scope the system refuses threads: their stacks would not
// fit into the address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge = before_;
    pthread_attr_setstacksize(&huge, size_t{1} << 50);
    pthread_setattr_default_np(&huge);
  }
  ~NoThreads() { pthread_setattr_default_np(&before_); }

 private:
  pthread_attr_t before_;
};

// The exception ended the program.
TEST(ParallelTest, DoesAllWhereTheSystemRefusesThreads) {
  const NoThreads no_threads;
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  std::vector<int> calls(1000);
  ParallelFor(1000, 7, [&](int64_t i) { ++calls[i]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
}

TEST(ParallelTest, ThisProcessMayRunSomewhere) {
  EXPECT_GE(UsableProcessors(), 1);
}

}  // namespace
}  // namespace feedrate
