#include "lib/media/video/decode_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/files.h"
#include "lib/media/video/clip_set.h"
#include "lib/media/video/synthetic_video.h"

namespace feedrate {
namespace {

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

}  // namespace
}  // namespace feedrate
