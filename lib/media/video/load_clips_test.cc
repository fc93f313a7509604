#include "lib/media/video/load_clips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "lib/base/files.h"
#include "lib/media/corpus.h"
#include "lib/media/image.h"
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

ClipFile FileOf(const std::string& container, const std::string& codec,
                int b_frames) {
  EncodeOptions options;
  options.container = container;
  options.codec = codec;
  options.b_frames = b_frames;
  options.width = 96;
  options.height = 64;
  options.frames = 40;
  const std::string path = ::testing::TempDir() + "/limit_" + codec +
                           std::to_string(b_frames) + "." + container;
  EXPECT_TRUE(WriteFileAtomically(path, EncodeVideo(options, 1).value()).ok());
  return {path, 1, {0, 5, 5, 39}, 64, 96};
}

TEST(DecodeLimitTest, IsKnownForEveryOrderOfFrames) {
  const absl::StatusOr<double> limit =
      DecodeLimit({FileOf("avi", "mpeg4", 0), FileOf("avi", "mpeg4", 2),
                   FileOf("mp4", "libx264", 3)},
                  /*threads=*/1);
  ASSERT_TRUE(limit.ok()) << limit.status();
  EXPECT_GT(*limit, 0);
}

TEST(DecodeLimitTest, SeveralThreadsHaveTheirOwnClips) {
  const absl::StatusOr<double> limit =
      DecodeLimit({FileOf("avi", "mpeg4", 0)}, /*threads=*/3);
  ASSERT_TRUE(limit.ok()) << limit.status();
  EXPECT_GT(*limit, 0);
}

TEST(DecodeLimitTest, WhatCannotBeReadIsAReason) {
  EXPECT_FALSE(DecodeLimit({}, 1).ok());
  EXPECT_FALSE(DecodeLimit({{"/absent.avi", 1, {0}, 1, 1}}, 2).ok());
}

TEST(ClipRuleTest, UniformIsWhatNumpyCutsToWholeNumbers) {
  // numpy.linspace(0, 174, 16, dtype=int).
  EXPECT_THAT(ClipFrames(ClipRule::kUniform, 175, 16, 1, 0),
              ElementsAre(0, 11, 23, 34, 46, 58, 69, 81, 92, 104, 116, 127, 139,
                          150, 162, 174));
  // The same of 17 frames: one is left out.
  EXPECT_THAT(
      ClipFrames(ClipRule::kUniform, 17, 16, 1, 0),
      ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16));
}

TEST(ClipRuleTest, ShortVideosRepeatTheirLastFrame) {
  for (const ClipRule rule : {ClipRule::kUniform, ClipRule::kConsecutive}) {
    EXPECT_THAT(ClipFrames(rule, 3, 5, 1, 0), ElementsAre(0, 1, 2, 2, 2));
    EXPECT_THAT(ClipFrames(rule, 1, 2, 1, 0), ElementsAre(0, 0));
    EXPECT_THAT(ClipFrames(rule, 4, 4, 1, 0), ElementsAre(0, 1, 2, 3));
  }
  EXPECT_THAT(ClipFrames(ClipRule::kUniform, 9, 1, 1, 0), ElementsAre(0));
}

TEST(ClipRuleTest, ConsecutiveStartsWhereSeedAndItemSay) {
  std::set<int64_t> starts;
  for (int64_t item = 0; item < 200; ++item) {
    const std::vector<int64_t> frames =
        ClipFrames(ClipRule::kConsecutive, 20, 16, 7, item);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(frames[i], frames[0] + i);
    starts.insert(frames[0]);
    EXPECT_EQ(frames, ClipFrames(ClipRule::kConsecutive, 20, 16, 7, item));
  }
  EXPECT_THAT(starts, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_NE(ClipFrames(ClipRule::kConsecutive, 1000, 16, 7, 1),
            ClipFrames(ClipRule::kConsecutive, 1000, 16, 8, 1));
}

TEST(ClipRuleTest, NamesAreReadAgain) {
  for (const ClipRule rule : {ClipRule::kUniform, ClipRule::kConsecutive}) {
    EXPECT_EQ(ParseClipRule(ClipRuleName(rule)).value(), rule);
  }
  EXPECT_EQ(ParseClipRule("dense").status().message(),
            "clip rule \"dense\" is unknown; use one of uniform, consecutive");
}

Image Drawn(int64_t number, int height, int width, int black, int white) {
  Image image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::optional<bool> square = PatternAt(number, width, x, y);
      const int value = square.has_value() ? (*square ? white : black) : 90;
      for (int c = 0; c < 3; ++c) {
        image.row(y)[3 * x + c] = static_cast<uint8_t>(value);
      }
    }
  }
  return image;
}

TEST(IndexPatternTest, EveryNumberIsReadAgain) {
  for (int64_t number = 0; number < kPatternNumbers; ++number) {
    EXPECT_EQ(ReadPattern(Drawn(number, 12, 161, 0, 255).view()), number);
  }
}

TEST(IndexPatternTest, CompressionMayGrayIt) {
  EXPECT_EQ(ReadPattern(Drawn(1234, 240, 320, 100, 160).view()), 1234);
}

TEST(IndexPatternTest, WhatIsNoPatternIsNoNumber) {
  EXPECT_EQ(ReadPattern(Drawn(5, 240, 320, 90, 90).view()), std::nullopt);
  EXPECT_EQ(ReadPattern(Drawn(5, 240, 60, 0, 255).view()), std::nullopt);
  EXPECT_EQ(ReadPattern(Drawn(5, 3, 320, 0, 255).view()), std::nullopt);
  // One inverted square is detected by the checksum or the frame around it.
  Image wrong = Drawn(77, 240, 320, 0, 255);
  for (int y = 0; y < 16; ++y) {
    for (int x = 5 * 16 * 3; x < 6 * 16 * 3; ++x) wrong.row(y)[x] ^= 255;
  }
  EXPECT_EQ(ReadPattern(wrong.view()), std::nullopt);
}

}  // namespace
}  // namespace feedrate
