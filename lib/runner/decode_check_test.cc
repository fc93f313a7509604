#include "lib/runner/decode_check.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/media/corpus.h"
#include "lib/media/video/clips.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr int kHeight = 20;
constexpr int kWidth = 160;

// Frames that show these numbers over a grey of `level`.
std::string Clip(const std::vector<int64_t>& numbers, int level) {
  std::string bytes;
  for (const int64_t number : numbers) {
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const auto square = PatternAt(number, kWidth, x, y);
        const int value = square.has_value() ? (*square ? 250 : 5) : level;
        bytes.append(3, static_cast<char>(value));
      }
    }
  }
  return bytes;
}

class DecodeCheckTest : public ::testing::Test {
 protected:
  DecodeCheckTest() : reference_(Reference()) {
    files_.push_back({"a.avi", 1, {3, 9}, kHeight, kWidth});
  }
  static Corpus Reference() {
    CorpusWriter writer =
        CorpusWriter::Create(DType::kUint8, Layout::kHwc).value();
    EXPECT_TRUE(writer.AddRoom({{2, kHeight, kWidth, 3}}).ok());
    EXPECT_TRUE(writer.Write(0, Clip({3, 9}, 100).data()).ok());
    return std::move(writer).Finish().value();
  }
  Equivalence Check(const std::string& bytes,
                    std::vector<int64_t> shape = {2, kHeight, kWidth, 3}) {
    ChildOutput output;
    output.bytes = bytes;
    output.info.dtype = "uint8";
    output.info.layout = "THWC";
    output.info.shape = std::move(shape);
    decode_.Clear();
    return CompareClips({output}, reference_, files_, 40, &decode_);
  }

  const Corpus reference_;
  std::vector<ClipFile> files_;
  Decode decode_;
};

TEST_F(DecodeCheckTest, SameBytesAreExact) {
  const Equivalence result = Check(Clip({3, 9}, 100));
  EXPECT_EQ(result.label(), "exact");
  EXPECT_EQ(result.reference(), "ffmpeg");
  EXPECT_EQ(decode_.frames_compared(), 2);
  EXPECT_TRUE(decode_.has_wrong_frames());
  EXPECT_EQ(decode_.wrong_frames(), 0);
}

TEST_F(DecodeCheckTest, RoundingIsEquivalentAndAnotherColourIsNot) {
  const Equivalence close = Check(Clip({3, 9}, 101));
  EXPECT_EQ(close.label(), "equivalent");
  EXPECT_NEAR(close.max_abs_diff(), 1 / 255.0, 1e-9);
  EXPECT_GT(close.psnr_db(), 40);
  const Equivalence far = Check(Clip({3, 9}, 120));
  EXPECT_EQ(far.label(), "different");
  EXPECT_THAT(far.reference(), HasSubstr("frame 3 of clip 0 has a PSNR of"));
}

TEST_F(DecodeCheckTest, AnotherFrameIsNamed) {
  const Equivalence result = Check(Clip({3, 10}, 100));
  EXPECT_EQ(result.label(), "different");
  EXPECT_EQ(result.reference(), "frame 9 of clip 0 shows frame 10");
  EXPECT_EQ(decode_.wrong_frames(), 1);
}

TEST_F(DecodeCheckTest, AnotherShapeIsDifferent) {
  EXPECT_THAT(Check(Clip({3, 9}, 100), {2, kWidth, kHeight, 3}).reference(),
              HasSubstr("frame 3 of clip 0"));
  EXPECT_EQ(Check(Clip({3}, 100), {1, kHeight, kWidth, 3}).reference(),
            "clip 0 has 1 frames of uint8 THWC");
}

}  // namespace
}  // namespace feedrate
