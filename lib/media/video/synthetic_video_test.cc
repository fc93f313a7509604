#include "lib/media/video/synthetic_video.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/files.h"
#include "lib/media/image.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/index_pattern.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_THAT(Problem("synthetic:rgb"), HasSubstr("only video"));
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
    // What is there is left alone; what is gone is the same again.
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
