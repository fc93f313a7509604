#include "lib/media/video/load_clips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/files.h"
#include "lib/media/corpus.h"
#include "lib/media/video/index_pattern.h"
#include "lib/media/video/synthetic_video.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadClipsTest : public ::testing::Test {
 protected:
  LoadClipsTest()
      : folder_(
            ::testing::TempDir() + "/load_clips/" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(MakeFolder(folder_).ok());
    request_.files.dataset = folder_;
    request_.clip_length = 4;
  }
  void Write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomically(JoinPath(folder_, name), bytes).ok());
  }
  static std::string Video(int frames, const std::string& container = "avi") {
    EncodeOptions options;
    options.container = container;
    options.width = 160;
    options.height = 120;
    options.frames = frames;
    return EncodeVideo(options, 3).value();
  }
  std::string Problem() {
    return std::string(LoadClips(request_).status().message());
  }

  const std::string folder_;
  ClipRequest request_;
};

int64_t NumberAt(const Corpus& corpus, int64_t item, int frame) {
  const ItemView view = corpus.item(item);
  const auto* data = static_cast<const uint8_t*>(view.data);
  return ReadPattern({data + int64_t{3} * frame * view.height * view.width,
                      view.height, view.width, 3})
      .value_or(-1);
}

TEST_F(LoadClipsTest, GoesOnPastWhatIsBrokenAndNamesIt) {
  const std::string good = Video(9);
  Write("1.avi", good.substr(0, good.size() / 2));
  Write("2.avi", good);
  Write("3.avi", "");
  Write("4.txt", "not tried");
  Write("5.MP4", Video(2, "mp4"));
  Write("6.avi", good);
  request_.files.num_items = 2;
  const absl::StatusOr<LoadedClips> loaded = LoadClips(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Corpus& corpus = loaded->clips.corpus;
  ASSERT_EQ(corpus.size(), 2);
  EXPECT_EQ(corpus.item(0).frames, 4);
  EXPECT_THAT(loaded->files[0].frames, ElementsAre(0, 2, 5, 8));
  EXPECT_THAT(loaded->files[1].frames, ElementsAre(0, 1, 1, 1));
  for (int64_t item = 0; item < 2; ++item) {
    for (int frame = 0; frame < 4; ++frame) {
      EXPECT_EQ(NumberAt(corpus, item, frame),
                loaded->files[item].frames[frame]);
    }
  }
  EXPECT_EQ(loaded->files[0].bytes, good.size());
  ASSERT_EQ(loaded->clips.skipped.size(), 2);
  EXPECT_EQ(loaded->clips.skipped[0].name, "1.avi");
  EXPECT_EQ(loaded->clips.skipped[1].name, "3.avi");
  EXPECT_THAT(loaded->clips.skipped[1].reason, HasSubstr("no video"));
}

TEST_F(LoadClipsTest, KeepsFewButKnowsAll) {
  for (const char* name : {"1.avi", "2.avi", "3.avi"}) Write(name, Video(6));
  request_.kept = 1;
  const absl::StatusOr<LoadedClips> loaded = LoadClips(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->clips.corpus.size(), 1);
  EXPECT_EQ(loaded->files.size(), 3);
  EXPECT_EQ(loaded->clips.files, 3);
}

TEST_F(LoadClipsTest, SyntheticFilesAreMadeOnce) {
  request_.files.dataset = "synthetic:video,n=2,seed=5";
  request_.cache_folder = folder_;
  const absl::StatusOr<LoadedClips> loaded = LoadClips(request_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->clips.id, "synthetic:video,n=2,seed=5");
  const std::string path = loaded->files[1].path;
  const auto made = std::filesystem::last_write_time(path);
  const absl::StatusOr<LoadedClips> again = LoadClips(request_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->files[1].path, path);
  EXPECT_EQ(std::filesystem::last_write_time(path), made);
  EXPECT_EQ(again->clips.sha256, loaded->clips.sha256);
  request_.files.dataset = "synthetic:video";
  EXPECT_THAT(Problem(), HasSubstr("how many?"));
}

TEST_F(LoadClipsTest, NothingToLoadIsAnErrorWithTheReason) {
  EXPECT_THAT(Problem(), HasSubstr("no video that can be read among 0 files"));
  Write("1.avi", "RIFF");
  EXPECT_THAT(Problem(), HasSubstr("; 1.avi: no video"));
  request_.files.dataset = folder_ + "/absent";
  EXPECT_THAT(Problem(), HasSubstr("no such folder of videos"));
}

TEST_F(LoadClipsTest, WhatDoesNotFitNamesWhatDoes) {
  for (int i = 0; i < 4; ++i) Write(std::to_string(i) + ".avi", Video(6));
  request_.files.memory_bytes = (int64_t{64} << 20) + 600'000;
  EXPECT_THAT(Problem(), HasSubstr("num_items=2"));
}

}  // namespace
}  // namespace feedrate
