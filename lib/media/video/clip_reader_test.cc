#include "lib/media/video/clip_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/media/image.h"
#include "lib/media/item_ids.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/synthetic_video.h"
#include "lib/media/video/yuv.h"

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

// The numbers in the frames that a file gives; the reason when it gives none.
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

// Requests a video in all ways that this test knows.
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

// The stream that FFmpeg calls the best.
int BestStream(const std::string& file) {
  const std::string path = ::testing::TempDir() + "/streams";
  EXPECT_TRUE(WriteFileAtomically(path, file).ok());
  AVFormatContext* format = nullptr;
  EXPECT_EQ(avformat_open_input(&format, path.c_str(), nullptr, nullptr), 0);
  const AvPtr<AVFormatContext> closes(format);
  EXPECT_GE(avformat_find_stream_info(format, nullptr), 0);
  return av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
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
  // The FFmpeg of bundles (dev/ffmpeg.sh) cannot write all that it reads.
  if (absl::StrContains(file.status().message(),
                        "this FFmpeg has no encoder")) {
    GTEST_SKIP() << file.status();
  }
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

// DivX files have packets without a frame, and packets with two.
TEST(ClipReaderTest, PackedBFrames) {
  for (const int b_frames : {1, 2}) {
    EncodeOptions options = Small("avi", "mpeg4", b_frames);
    options.packed = true;
    const std::string file = *EncodeVideo(options, 1);
    EXPECT_GT((*PacketList::Open({"", file}))->size(), 40);
    ExpectRightFrames(file, 40);
  }
}

TEST(ClipReaderTest, FramesThatAnEditListLeavesOut) {
  for (const int b_frames : {0, 2}) {
    EncodeOptions options = Small("mp4", "libx264", b_frames);
    options.hidden_frames = 5;
    const std::string file = *EncodeVideo(options, 1);
    EXPECT_EQ((*ClipReader::OpenBytes(file, 1))->info().frames, 35);
    EXPECT_EQ(NumbersIn(file, {0, 1, 20, 34}).value(),
              (std::vector<int64_t>{5, 6, 25, 39}));
  }
}

TEST(ClipReaderTest, OfSeveralStreamsTheBestOne) {
  EncodeOptions small = Small("avi", "mpeg4");
  small.width = 80;
  small.height = 64;
  const std::string first = *EncodeVideo(small, 1);
  const std::string second = *EncodeVideo(Small("avi", "mpeg4"), 2);
  for (const char* container : {"avi", "mp4", "mkv"}) {
    const std::string file = JoinVideos({first, second}, container).value();
    const auto packets = PacketList::Open({"", file});
    ASSERT_TRUE(packets.ok()) << packets.status();
    EXPECT_EQ((*packets)->stream(), BestStream(file)) << container;
    EXPECT_EQ(NumbersIn(file, {0, 7, 39}).value(),
              (std::vector<int64_t>{0, 7, 39}));
  }
  // It is not always the first.
  const std::string file = JoinVideos({first, second}, "mkv").value();
  EXPECT_EQ((*ClipReader::OpenBytes(file, 1))->info().width, 160);
}

// Mean colors of 4 x 4 parts of the frame, in the order of testdata/media.
std::vector<double> PartMeans(const ImageView& frame) {
  constexpr int kParts = 4;
  std::vector<double> means;
  for (int part = 0; part < kParts * kParts; ++part) {
    const int top = part / kParts * frame.height / kParts;
    const int bottom = (part / kParts + 1) * frame.height / kParts;
    const int left = part % kParts * frame.width / kParts;
    const int right = (part % kParts + 1) * frame.width / kParts;
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (int y = top; y < bottom; ++y) {
        for (int x = left; x < right; ++x) sum += frame.row(y)[3 * x + c];
      }
      means.push_back(sum / ((bottom - top) * (right - left)));
    }
  }
  return means;
}

// testdata/media has what PyAV reads from each file.
TEST(ClipReaderTest, RareKindsAreReadAsByPyAv) {
  const std::string folder = "testdata/media/";
  const std::string table = ReadFile(folder + "clips.txt").value();
  const std::vector<std::string> lines =
      absl::StrSplit(table, '\n', absl::SkipEmpty());
  int clips = 0;
  for (size_t at = 0; at < lines.size(); ++clips) {
    const std::vector<std::string> words = absl::StrSplit(lines[at++], ' ');
    SCOPED_TRACE(words[0]);
    const auto reader = ClipReader::Open(folder + words[0], 1);
    ASSERT_TRUE(reader.ok()) << reader.status();
    const VideoInfo& info = (*reader)->info();
    ASSERT_EQ(absl::StrCat(info.frames), words[1]);
    ASSERT_EQ(absl::StrCat(info.height, " ", info.width),
              absl::StrCat(words[2], " ", words[3]));
    std::vector<uint8_t> rgb((*reader)->FrameBytes());
    for (int64_t frame = 0; frame < info.frames; ++frame) {
      ASSERT_TRUE((*reader)->Read({frame}, rgb.data()).ok());
      const std::vector<double> means =
          PartMeans({rgb.data(), info.height, info.width, 3});
      const std::vector<std::string> expected =
          absl::StrSplit(lines[at++], ' ');
      ASSERT_EQ(means.size(), expected.size());
      for (size_t i = 0; i < means.size(); ++i) {
        EXPECT_NEAR(means[i], std::stod(expected[i]), 2.5)
            << "frame " << frame << " " << i;
      }
    }
  }
  EXPECT_GE(clips, 10);
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

std::string Problem(const std::string& dataset) {
  return std::string(ParseSyntheticVideo(dataset).status().message());
}

TEST(SyntheticVideoTest, NamesAreRead) {
  const auto spec =
      ParseSyntheticVideo("synthetic:video,seed=9,container=mp4,n=4");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->n, 4);
  EXPECT_EQ(spec->seed, 9);
  EXPECT_EQ(spec->container, "mp4");
  EXPECT_EQ(ParseSyntheticVideo("synthetic:video")->container, "avi");
  EXPECT_THAT(Problem("synthetic:rgb"), HasSubstr("only video and ids"));
  EXPECT_THAT(Problem("synthetic:ids,n=5000"), HasSubstr("4096 ids"));
  EXPECT_THAT(Problem("synthetic:ids,seed=1"), HasSubstr("n and container"));
  EXPECT_THAT(Problem("synthetic:video,n=0"), HasSubstr("n must be"));
  EXPECT_THAT(Problem("synthetic:video,container=gif"),
              HasSubstr("avi or mp4"));
  EXPECT_THAT(Problem("synthetic:video,size=4"), HasSubstr("\"size\""));
}

TEST(SyntheticVideoTest, FilesAreLikeThoseOfUcf101AndAlwaysTheSame) {
  for (const char* container : {"avi", "mp4"}) {
    SyntheticVideoSpec spec;
    spec.container = container;
    const std::string folder =
        ::testing::TempDir() + "/synthetic_video_" + container;
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(WriteSyntheticVideos(spec, 2, folder).ok());
    const std::string path = JoinPath(folder, SyntheticVideoName(spec, 1));
    const std::string file = ReadFile(path).value();
    EXPECT_GT(file.size(), 50'000);
    EXPECT_LT(file.size(), 1'500'000);
    // Existing files are kept; missing ones are written again with the same
    // bytes.
    std::filesystem::remove(path);
    ASSERT_TRUE(WriteSyntheticVideos(spec, 2, folder).ok());
    EXPECT_EQ(ReadFile(path).value(), file);
    EXPECT_NE(ReadFile(JoinPath(folder, SyntheticVideoName(spec, 0))).value(),
              file);

    const auto reader = ClipReader::Open(path, 1);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->info().width, 320);
    EXPECT_EQ((*reader)->info().height, 240);
    const int64_t frames = (*reader)->info().frames;
    EXPECT_GE(frames, 150);
    EXPECT_LE(frames, 200);
    std::vector<uint8_t> rgb((*reader)->FrameBytes());
    ASSERT_TRUE((*reader)->Read({frames - 1}, rgb.data()).ok());
    EXPECT_EQ(ReadPattern({rgb.data(), 240, 320, 3}), frames - 1);
  }
}

TEST(SyntheticVideoTest, VideosShowTheirIds) {
  for (const char* const dataset :
       {"synthetic:ids", "synthetic:ids,container=mp4"}) {
    const SyntheticVideoSpec spec = *ParseSyntheticVideo(dataset);
    for (int64_t id = 0; id < kItemIds; id = 3 * id + 1) {
      EncodeOptions options = SyntheticVideoOptions(spec, id);
      options.width = options.height = 96;
      options.frames = 5;
      const std::string file = *EncodeVideo(options, 0);
      const auto reader = *ClipReader::OpenBytes(file, 1);
      std::vector<uint8_t> rgb(2 * reader->FrameBytes());
      ASSERT_TRUE(reader->Read({1, 4}, rgb.data()).ok());
      for (const int frame : {0, 1}) {
        EXPECT_EQ(IdOfPicture(96, 96,
                              [&](int c, int y, int x) -> double {
                                return rgb[frame * reader->FrameBytes() +
                                           3 * (y * 96 + x) + c];
                              }),
                  id)
            << dataset;
      }
    }
  }
}

TEST(SyntheticVideoTest, WhatCannotBeEncodedIsAReason) {
  EncodeOptions options;
  options.codec = "no_such_codec";
  EXPECT_THAT(std::string(EncodeVideo(options, 1).status().message()),
              HasSubstr("no encoder no_such_codec"));
  options = {};
  options.container = "nothing";
  EXPECT_THAT(std::string(EncodeVideo(options, 1).status().message()),
              HasSubstr("container nothing"));
}

}  // namespace
}  // namespace feedrate
