// That the pixels are right is in jpeg_region_test.cc; here, that they are made
// this way at all.
#include "lib/media/jpeg_baseline.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/jpeg_region_turbo.h"
#include "lib/media/jpeg_test_files.h"

namespace feedrate {
namespace {

TEST(JpegBaselineTest, DoesTheCommonKindsItself) {
  JpegBaselineRegion baseline;
  for (const auto& [horizontal, vertical] :
       {std::pair(1, 1), {2, 1}, {2, 2}, {1, 2}}) {
    for (int restart_every : {0, 3}) {
      JpegTestFile file;
      file.width = 100;
      file.height = 70;
      file.horizontal = horizontal;
      file.vertical = vertical;
      file.restart_every = restart_every;
      const std::string jpeg = MakeJpeg(file);
      JpegTurboRegion turbo;
      ASSERT_TRUE(turbo.Open(jpeg).ok());
      JpegBaselinePicture picture;
      ASSERT_TRUE(turbo.GetBaseline(&picture));
      const Image whole = DecodeWhole(jpeg, {});
      Image part(33, 51, 3);
      // Twice: the second time with tables for passing over codes.
      for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(
            baseline.Decode(picture, {21, 30, 51, 33}, part.data(), 153));
        for (int y = 0; y < 33; ++y) {
          ASSERT_EQ(
              std::memcmp(part.row(y), whole.view().row(30 + y) + 63, 153), 0)
              << horizontal << "x" << vertical << " " << restart_every << " "
              << i << " row " << y;
        }
      }
    }
  }
}

TEST(JpegBaselineTest, LeavesTheOthersAlone) {
  std::vector<JpegTestFile> files(4);
  files[0].progressive = true;
  files[1].arithmetic = true;
  files[2].horizontal = 4;
  files[3].stored_as_rgb = true;
  for (const JpegTestFile& file : files) {
    const std::string jpeg = MakeJpeg(file);
    JpegTurboRegion turbo;
    ASSERT_TRUE(turbo.Open(jpeg).ok());
    JpegBaselinePicture picture;
    EXPECT_FALSE(turbo.GetBaseline(&picture));
  }
}

TEST(JpegBaselineTest, CutOffOrOddFilesAreLeftToLibjpeg) {
  const std::string jpeg = MakeJpeg({});
  JpegTurboRegion turbo;
  ASSERT_TRUE(turbo.Open(jpeg).ok());
  JpegBaselinePicture picture;
  ASSERT_TRUE(turbo.GetBaseline(&picture));
  JpegBaselineRegion baseline;
  std::vector<uint8_t> out(64 * 64 * 3);
  ASSERT_TRUE(baseline.Decode(picture, {0, 0, 64, 64}, out.data(), 192));
  JpegBaselinePicture cut = picture;
  cut.codes_bytes /= 2;
  EXPECT_FALSE(baseline.Decode(cut, {0, 0, 64, 64}, out.data(), 192));
  EXPECT_TRUE(baseline.Decode(cut, {0, 0, 64, 8}, out.data(), 192));
  JpegBaselinePicture without = picture;
  without.component[2].ac = {};
  EXPECT_FALSE(baseline.Decode(without, {0, 0, 64, 64}, out.data(), 192));
}

}  // namespace
}  // namespace feedrate
