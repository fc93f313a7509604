#include "lib/media/video/clip_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/media/image.h"
#include "lib/media/video/clip_rule.h"
#include "lib/media/video/index_pattern.h"
#include "lib/media/video/synthetic_video.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

EncodeOptions Small(const std::string& container, const std::string& codec,
                    int b_frames = 0) {
  EncodeOptions options;
  options.container = container;
  options.codec = codec;
  options.b_frames = b_frames;
  options.width = 160;
  options.height = 120;
  options.frames = 40;
  return options;
}

// Frames that a file gives, as the numbers burnt into them; a text with the
// reason when it gives none.
absl::StatusOr<std::vector<int64_t>> NumbersIn(
    const std::string& file, const std::vector<int64_t>& frames,
    int threads = 1) {
  const auto reader = ClipReader::OpenBytes(file, threads);
  if (!reader.ok()) return reader.status();
  std::vector<uint8_t> rgb(frames.size() * (*reader)->FrameBytes());
  const absl::Status read = (*reader)->Read(frames, rgb.data());
  if (!read.ok()) return read;
  std::vector<int64_t> numbers;
  const VideoInfo& info = (*reader)->info();
  for (size_t i = 0; i < frames.size(); ++i) {
    numbers.push_back(ReadPattern({rgb.data() + i * (*reader)->FrameBytes(),
                                   info.height, info.width, 3})
                          .value_or(-1));
  }
  return numbers;
}

// All ways to ask a video for frames that this test knows.
void ExpectRightFrames(const std::string& file, int64_t num_frames) {
  const auto reader = ClipReader::OpenBytes(file, 1);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ((*reader)->info().frames, num_frames);
  std::vector<std::vector<int64_t>> clips = {
      {0}, {num_frames - 1}, {1, num_frames / 2, num_frames - 1}};
  for (const ClipRule rule : {ClipRule::kUniform, ClipRule::kConsecutive}) {
    for (int64_t item = 0; item < 4; ++item) {
      clips.push_back(ClipFrames(rule, num_frames, 16, 3, item));
    }
  }
  for (int64_t i = 0; i < num_frames; ++i) clips.push_back({i});
  for (const int threads : {1, 2}) {
    for (const std::vector<int64_t>& clip : clips) {
      const auto numbers = NumbersIn(file, clip, threads);
      ASSERT_TRUE(numbers.ok()) << numbers.status();
      EXPECT_EQ(*numbers, clip);
    }
  }
}

struct Kind {
  const char* container;
  const char* codec;
  int b_frames;
  const char* pixel_format = "yuv420p";
};

class ClipReaderTest : public ::testing::TestWithParam<Kind> {};

TEST_P(ClipReaderTest, GivesTheFramesAskedFor) {
  const Kind& kind = GetParam();
  EncodeOptions options = Small(kind.container, kind.codec, kind.b_frames);
  options.pixel_format = kind.pixel_format;
  const auto file = EncodeVideo(options, 5);
  ASSERT_TRUE(file.ok()) << file.status();
  ExpectRightFrames(*file, 40);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ClipReaderTest,
    ::testing::Values(Kind{"avi", "mpeg4", 0}, Kind{"avi", "mpeg4", 2},
                      Kind{"mp4", "mpeg4", 2}, Kind{"mkv", "mpeg4", 2},
                      Kind{"avi", "mjpeg", 0, "yuvj420p"},
                      Kind{"mp4", "libx264", 3}, Kind{"mov", "libx264", 0},
                      Kind{"mkv", "libx264", 3}, Kind{"avi", "libx264", 2},
                      Kind{"mp4", "libx264", 2, "yuv422p"},
                      Kind{"mp4", "libx264", 2, "yuv444p"},
                      Kind{"mp4", "libx264", 2, "yuv420p10le"},
                      Kind{"webm", "libvpx-vp9", 0}),
    [](const ::testing::TestParamInfo<Kind>& info) {
      std::string name =
          absl::StrCat(info.param.container, info.param.codec,
                       info.param.b_frames, info.param.pixel_format);
      std::string letters;
      for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c))) letters += c;
      }
      return letters;
    });

TEST(ClipReaderTest, VariableRateCountsFrames) {
  EncodeOptions options = Small("mp4", "libx264", 2);
  options.variable_rate = true;
  ExpectRightFrames(*EncodeVideo(options, 1), 40);
}

TEST(ClipReaderTest, OddSizes) {
  EncodeOptions options = Small("avi", "mpeg4");
  options.width = 161;
  options.height = 91;
  ExpectRightFrames(*EncodeVideo(options, 1), 40);
}

TEST(ClipReaderTest, RotationIsNotApplied) {
  EncodeOptions options = Small("mp4", "libx264");
  options.rotation = 90;
  const std::string file = *EncodeVideo(options, 1);
  EXPECT_EQ((*ClipReader::OpenBytes(file, 1))->info().width, 160);
  ExpectRightFrames(file, 40);
}

TEST(ClipReaderTest, FewFramesAndRepeats) {
  EncodeOptions options = Small("avi", "mpeg4");
  options.frames = 3;
  const std::string file = *EncodeVideo(options, 1);
  const std::vector<int64_t> clip = ClipFrames(ClipRule::kUniform, 3, 16, 1, 0);
  EXPECT_EQ(NumbersIn(file, clip).value(), clip);
}

TEST(ClipReaderTest, WhatIsNotThereIsAReason) {
  const std::string file = *EncodeVideo(Small("avi", "mpeg4"), 1);
  const auto reason = [](const std::string& bytes) {
    return std::string(NumbersIn(bytes, {0}).status().message());
  };
  EXPECT_THAT(reason(""), HasSubstr("no video"));
  EXPECT_THAT(reason("RIFF"), HasSubstr("no video"));
  EXPECT_THAT(reason(std::string(5000, 'x')), HasSubstr("no video"));
  EXPECT_THAT(reason("#EXTM3U\nhttp://example.com/a.ts\n"),
              HasSubstr("no video"));
  EXPECT_THAT(std::string(NumbersIn(file, {40}).status().message()),
              HasSubstr("frame 40 was asked for; there are 40"));
  EXPECT_THAT(std::string(ClipReader::Open("absent.avi", 1).status().message()),
              HasSubstr("No such file"));
}

TEST(ClipReaderTest, AFileCutOffGivesRightFramesOrAReason) {
  for (const char* container : {"avi", "mp4", "mkv"}) {
    const std::string file = *EncodeVideo(
        Small(container, container[0] == 'a' ? "mpeg4" : "libx264"), 1);
    for (size_t size = 0; size < file.size(); size += file.size() / 37) {
      const std::string cut = file.substr(0, size);
      const auto reader = ClipReader::OpenBytes(cut, 1);
      if (!reader.ok()) {
        EXPECT_NE(reader.status().message(), "");
        continue;
      }
      const std::vector<int64_t> clip =
          ClipFrames(ClipRule::kUniform, (*reader)->info().frames, 16, 1, 0);
      const auto numbers = NumbersIn(cut, clip);
      if (numbers.ok()) {
        EXPECT_EQ(*numbers, clip) << container << " " << size;
      }
    }
  }
}

int64_t OpenFiles() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(open, std::filesystem::directory_iterator());
}

TEST(ClipReaderTest, NothingStaysOpen) {
  const std::string path = ::testing::TempDir() + "/no.avi";
  std::filesystem::remove(path);
  const int64_t before = OpenFiles();
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(ClipReader::Open(path, 1).ok());
    EXPECT_FALSE(ClipReader::Open("/proc/self/status", 1).ok());
  }
  EXPECT_EQ(OpenFiles(), before);
}

}  // namespace
}  // namespace feedrate
