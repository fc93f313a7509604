#include "lib/loader/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/files.h"
#include "lib/media/jpeg/test_files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = JoinPath(testing::TempDir(), name);
  EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
  return path;
}

LimitOptions Short() {
  LimitOptions options;
  options.seconds = 0.01;
  options.threads = 2;
  options.crop = 48;
  return options;
}

// Checks that something was measured, not the speed.
TEST(LimitsTest, DecodesWhatCanBeDecoded) {
  JpegTestFile small;
  small.width = 20;  // Smaller than the crop.
  const std::vector<std::string> paths = {
      Write("a.jpg", MakeJpeg({})), Write("small.jpg", MakeJpeg(small)),
      Write("cut.jpg", MakeJpeg({}).substr(0, 700)), Write("b.npy", "x")};
  EXPECT_GT(DecodeLimit(paths, Short()).value(), 0);
  LimitOptions centered = Short();
  centered.centered = true;
  EXPECT_GT(DecodeLimit(paths, centered).value(), 0);
  LimitOptions resized = Short();
  resized.crop = 8;  // Smaller than any of the windows.
  resized.resized = WindowShape{{0.5, 1}, {0.75, 4.0 / 3}, 10};
  EXPECT_GT(DecodeLimit(paths, resized).value(), 0);
}

TEST(LimitsTest, NothingToDecode) {
  const std::vector<std::string> paths = {Write("c.npy", "x"), "missing.jpg"};
  EXPECT_THAT(std::string(DecodeLimit(paths, Short()).status().message()),
              HasSubstr("none of 2 files"));
  EXPECT_FALSE(DecodeLimit({}, Short()).ok());
}

TEST(LimitsTest, Copies) {
  EXPECT_GT(BatchCopyLimit(1000, 16, Short()), 0);
  EXPECT_EQ(BatchCopyLimit(0, 16, Short()), 0);
  EXPECT_EQ(BatchCopyLimit(1000, 0, Short()), 0);
}

}  // namespace
}  // namespace feedrate
