#include "lib/reference/compare.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"
#include "lib/reference/rearrange.h"
#include "lib/reference/resample.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;

Reference Ref(const std::string& op, ReferenceKind kind,
              const std::vector<std::string>& params = {}) {
  Reference reference;
  reference.set_op(op);
  reference.set_kind(kind);
  for (const std::string& param : params) reference.add_params(param);
  return reference;
}

Pixels Waves(int height = 24, int width = 32) {
  Pixels image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(y, x, c) =
            AsByte(128 + 60 * std::sin(0.5 * x + c) + 50 * std::cos(0.4 * y));
      }
    }
  }
  return image;
}

Comparison Label(const Reference& reference, const Pixels& output,
                 bool bytes = true) {
  return Compare(reference, Waves(), {output, bytes}).value();
}

TEST(CompareTest, TheSameBytesAreExact) {
  const Comparison same =
      Label(Ref("flip_vertically", PERMUTATION), FlipVertically(Waves()));
  EXPECT_EQ(same.label, kExact);
  EXPECT_EQ(same.max_abs_diff, 0.0);
  EXPECT_FALSE(same.psnr_db.has_value());
  EXPECT_NEAR(*same.ssim, 1, 1e-12);
  EXPECT_EQ(same.reference, "flip_vertically");
}

TEST(CompareTest, BytesAreHeldAgainstTheRoundedReference) {
  const Reference gamma = Ref("gamma", POINT, {"gamma=1.2"});
  const Pixels real =
      MapValues(Waves(), [](double v) { return 255 * std::pow(v / 255, 1.2); });
  EXPECT_EQ(Label(gamma, MapValues(real, AsByte)).label, kExact);
  EXPECT_EQ(Label(gamma, real, /*bytes=*/false).label, kExact);
  const Comparison floor =
      Label(gamma, MapValues(real, [](double v) { return std::floor(v); }));
  EXPECT_EQ(floor.label, kEquivalent);
  EXPECT_EQ(floor.max_abs_diff, 1.0);
}

TEST(CompareTest, PointTransformsMayBeOffByTwo) {
  const auto off = [](double by) {
    return Label(Ref("invert", POINT),
                 MapValues(Waves(), [=](double v) { return 255 - v + by; }));
  };
  EXPECT_EQ(off(2).label, kEquivalent);
  EXPECT_EQ(off(3).label, kDifferent);
  EXPECT_THAT(off(3).reference, HasSubstr("off by 3.00/255, limit 2"));
}

TEST(CompareTest, LimitsOfTheCatalogueWin) {
  Reference reference = Ref("invert", POINT);
  reference.set_max_abs_diff(4);
  EXPECT_EQ(
      Label(reference, MapValues(Waves(), [](double v) { return 252 - v; }))
          .label,
      kEquivalent);
}

TEST(CompareTest, ResamplingIsDecidedByPsnr) {
  const Reference resize = Ref("resize", RESAMPLE, {"height=30", "width=40"});
  Pixels output = MapValues(Resize(Waves(), 30, 40), AsByte);
  output.at(0, 0, 0) = 255 - output.at(0, 0, 0);
  EXPECT_EQ(Label(resize, output).label, kEquivalent);
  const Comparison noisy = Label(
      resize, MapValues(output, [](double v) { return std::abs(v - 4); }));
  EXPECT_EQ(noisy.label, kDifferent);
  EXPECT_THAT(noisy.reference, HasSubstr("dB, limit 40"));
}

TEST(CompareTest, AShiftIsDifferentHoweverSmooth) {
  Reference resize = Ref("resize", RESAMPLE, {"height=24", "width=32"});
  resize.set_min_psnr_db(10);
  const Comparison shifted = Label(resize, Shifted(Waves(), {0.5, 0}));
  EXPECT_EQ(shifted.label, kDifferent);
  EXPECT_THAT(shifted.reference, HasSubstr("half a pixel"));
}

TEST(CompareTest, AnotherSizeIsDifferent) {
  const Comparison other =
      Label(Ref("pad", PERMUTATION, {"border=1"}), PadWithZeros(Waves(), 2));
  EXPECT_EQ(other.label, kDifferent);
  EXPECT_FALSE(other.max_abs_diff.has_value());
  EXPECT_EQ(other.reference, "pad border=1: 36x28x3 instead of 34x26x3");
}

TEST(CompareTest, AnUntouchedInputIsANoop) {
  EXPECT_EQ(Label(Ref("invert", POINT), Waves()).label, kNoop);
  // Unless that is what the transform means.
  EXPECT_EQ(Label(Ref("posterize", POINT, {"bits=8"}), Waves()).label, kExact);
}

TEST(CompareTest, AnyOfTheAllowedOutputsWillDo) {
  const Reference turn = Ref("rotate_some_quarters", PERMUTATION);
  for (int times = 0; times < 4; ++times) {
    EXPECT_EQ(Label(turn, RotateQuarters(Waves(), times)).label, kExact);
  }
  EXPECT_EQ(Label(turn, FlipVertically(Waves())).label, kDifferent);
}

TEST(CompareTest, Distributions) {
  const Reference window =
      Ref("some_window", DISTRIBUTION, {"height=10", "width=12"});
  EXPECT_EQ(Label(window, Crop(Waves(), 5, 7, 10, 12)).label, kExact);
  EXPECT_EQ(Label(window, Resize(Waves(), 10, 12)).label, kDifferent);
}

TEST(CompareTest, RandomByNature) {
  Reference reference;
  reference.set_unchecked("the field is drawn");
  const Comparison comparison = Label(reference, FlipVertically(Waves()));
  EXPECT_EQ(comparison.label, kUnchecked);
  EXPECT_EQ(comparison.reference, "the field is drawn");
  EXPECT_FALSE(comparison.max_abs_diff.has_value());
}

TEST(CompareTest, AWrongReferenceIsAnError) {
  EXPECT_FALSE(Compare(Ref("blurr", POINT), Waves(), {Waves(), true}).ok());
  EXPECT_FALSE(Compare(Ref("gamma", POINT), Waves(), {Waves(), true}).ok());
  EXPECT_FALSE(
      Compare(Ref("invert", DISTRIBUTION), Waves(), {Waves(), true}).ok());
}

Comparison Made(const std::string& label, double diff, double psnr) {
  Comparison comparison;
  comparison.label = label;
  comparison.max_abs_diff = diff;
  comparison.psnr_db = psnr;
  comparison.reference = label;
  return comparison;
}

TEST(CompareTest, TheWorstImageDecides) {
  EXPECT_THAT(WorstOf({Made(kExact, 0, 90), Made(kDifferent, 9, 45),
                       Made(kEquivalent, 12, 42)}),
              AllOf(Field(&Comparison::label, kDifferent),
                    Field(&Comparison::max_abs_diff, 12.0),
                    Field(&Comparison::psnr_db, 42.0),
                    Field(&Comparison::reference, kDifferent)));
}

TEST(CompareTest, UncheckedIsANoopWhenNothingEverChanges) {
  Reference reference;
  reference.set_unchecked("drawn");
  const Comparison changed = Label(reference, FlipVertically(Waves()));
  const Comparison same = Label(reference, Waves());
  EXPECT_EQ(WorstOf({same, changed, same}).label, kUnchecked);
  EXPECT_EQ(WorstOf({same, same}).label, kNoop);
}

}  // namespace
}  // namespace feedrate
