#include "lib/media/video/timed_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "lib/media/video/clips.h"
#include "lib/media/video/synthetic_video.h"

namespace feedrate {
namespace {

constexpr int kTimedFrames = 60;
constexpr double kFrameS = 1.0 / 25;

std::string TimedVideo(const std::string& codec, int key_interval,
                       int b_frames) {
  EncodeOptions options;
  options.container = "mp4";
  options.codec = codec;
  options.width = 160;
  options.height = 120;
  options.frames = kTimedFrames;
  options.key_interval = key_interval;
  options.b_frames = b_frames;
  const auto file = EncodeVideo(options, 3);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.value_or("");
}

// The number in the frame at a time; the reason when there is none.
absl::StatusOr<int64_t> NumberAt(TimedReader* reader, double seconds) {
  std::vector<uint8_t> rgb(reader->FrameBytes());
  const absl::Status read = reader->Read(seconds, rgb.data());
  if (!read.ok()) return read;
  return ReadPattern({rgb.data(), reader->height(), reader->width(), 3})
      .value_or(-1);
}

void ExpectEveryFrame(const std::string& file) {
  const auto reader = TimedReader::OpenBytes(file);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->height(), 120);
  // Forwards, backwards, and in leaps. Twice the same one, too.
  std::vector<int64_t> order(kTimedFrames);
  std::iota(order.begin(), order.end(), 0);
  for (int i = kTimedFrames; i-- > 0;) order.push_back(i);
  for (int i = 0; i < kTimedFrames; ++i) order.push_back(i * 37 % kTimedFrames);
  order.push_back(order.back());
  for (const int64_t wanted : order) {
    const auto number = NumberAt(reader->get(), wanted * kFrameS + 2e-5);
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_EQ(*number, wanted);
  }
}

TEST(TimedReaderTest, GivesTheFrameOfATimeInAnyOrder) {
  ExpectEveryFrame(TimedVideo("mpeg4", 2, 0));
  ExpectEveryFrame(TimedVideo("mpeg4", 12, 0));
  ExpectEveryFrame(TimedVideo("libx264", 2, 0));
  ExpectEveryFrame(TimedVideo("libx264", 20, 3));
}

TEST(TimedReaderTest, ATimeWithoutAFrameIsAReason) {
  const std::string file = TimedVideo("libx264", 20, 2);
  const auto reader = TimedReader::OpenBytes(file);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(NumberAt(reader->get(), 10.5 * kFrameS).status().message(),
            "has no frame at 0.42 s; the nearest is at 0.4 s");
  EXPECT_THAT(NumberAt(reader->get(), 99).status().message(),
              ::testing::HasSubstr("has no frame at 99 s; the nearest is at"));
  EXPECT_FALSE(NumberAt(reader->get(), 0.0 / 0.0).ok());
  // It still works.
  EXPECT_EQ(NumberAt(reader->get(), 7 * kFrameS).value_or(-1), 7);
  EXPECT_FALSE(TimedReader::OpenBytes("no video").ok());
  EXPECT_FALSE(TimedReader::Open("/no/such/file.mp4").ok());
}

}  // namespace
}  // namespace feedrate
