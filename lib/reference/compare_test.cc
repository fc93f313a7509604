#include "lib/reference/compare.h"

#include <algorithm>
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/geometry.h"
#include "lib/reference/reference.h"
#include "lib/reference/testing.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

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

TEST(CompareTest, WhatIsNotFiniteIsDifferent) {
  Reference random;
  random.set_unchecked("drawn");
  for (const double wrong : {std::nan(""), HUGE_VAL}) {
    Pixels output = MapValues(Waves(), [](double v) { return 255 - v; });
    output.at(3, 4, 1) = wrong;
    for (const Reference& reference :
         {Ref("invert", POINT), Ref("blur", RESAMPLE, {"sigma=1"}),
          Ref("some_window", DISTRIBUTION, {"height=24", "width=32"}),
          random}) {
      const Comparison found = *Compare(reference, Waves(), {output, false});
      EXPECT_EQ(found.label, kDifferent) << ReferenceText(reference);
      EXPECT_THAT(found.reference,
                  HasSubstr("1 of 2304 values of the output are NaN"));
    }
    const LibraryOutput fine = {Waves(), false};
    EXPECT_EQ(CompareWithOutput("a", Waves(), fine, {output, false}).label,
              kDifferent);
    EXPECT_EQ(CompareWithOutput("a", Waves(), {output, false}, fine).label,
              kUnchecked);
  }
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

Pixels ExactWaves(int height, int width) {
  Pixels image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(y, x, c) =
            128 + 60 * std::sin(0.5 * x + c) + 50 * std::cos(0.4 * y);
      }
    }
  }
  return image;
}

Pixels Plus(const Pixels& image, double amount) {
  return MapValues(image, [=](double v) { return v + amount; });
}

TEST(SimilarityTest, OfEqualImages) {
  const Pixels image = ExactWaves(20, 30);
  EXPECT_EQ(MaxAbsDiff(image, image), 0);
  EXPECT_TRUE(std::isinf(Psnr(image, image)));
  EXPECT_NEAR(Ssim(image, image), 1, 1e-12);
  EXPECT_TRUE(BestUnshifted(image, image));
}

TEST(SimilarityTest, PsnrOfAConstantDifference) {
  // A difference of 2.55 everywhere is 1/100 of the range: 40 dB.
  EXPECT_NEAR(Psnr(ExactWaves(8, 8), Plus(ExactWaves(8, 8), 2.55)), 40, 1e-9);
  EXPECT_NEAR(MaxAbsDiff(ExactWaves(8, 8), Plus(ExactWaves(8, 8), -3)), 3,
              1e-9);
}

TEST(SimilarityTest, SsimOfFlatImagesIsTheirMeans) {
  // No variance: (2 m n + c1) / (m^2 + n^2 + c1).
  const Pixels a = Plus(Pixels(8, 8, 1), 100);
  const Pixels b = Plus(Pixels(8, 8, 1), 150);
  const double c1 = 2.55 * 2.55;
  EXPECT_NEAR(Ssim(a, b), (2 * 100 * 150 + c1) / (100 * 100 + 150 * 150 + c1),
              1e-12);
}

TEST(SimilarityTest, SsimOfSmallImages) {
  EXPECT_NEAR(Ssim(ExactWaves(3, 40), ExactWaves(3, 40)), 1, 1e-12);
  EXPECT_LT(Ssim(ExactWaves(3, 4), Plus(ExactWaves(3, 4), 30)), 1);
}

TEST(SimilarityTest, HalfAPixelIsSeen) {
  const Pixels image = ExactWaves(20, 30);
  EXPECT_FALSE(BestUnshifted(Shifted(image, {0.5, 0}), image));
  EXPECT_FALSE(BestUnshifted(Shifted(image, {-0.5, 0.5}), image));
  EXPECT_FALSE(BestUnshifted(Shifted(image, {0, -0.4}), image));
}

TEST(SimilarityTest, OtherDifferencesAreNoShift) {
  const Pixels image = ExactWaves(20, 30);
  EXPECT_TRUE(BestUnshifted(Shifted(image, {0.1, 0}), image));
  EXPECT_TRUE(BestUnshifted(MapValues(image, AsByte), image));
}

TEST(ReadOutputTest, PlanesOfFloats) {
  // Two pixels of two channels, channel by channel.
  const std::vector<float> data = {0, 1, 0.2f, 0.4f};
  const auto output = ReadOutput({data.data(), 16, "float32", "CHW", 1, 2, 2});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_FALSE(output->bytes);
  EXPECT_THAT(output->pixels.values,
              ElementsAre(0, testing::DoubleNear(51, 1e-4), 255,
                          testing::DoubleNear(102, 1e-4)));
}

TEST(ReadOutputTest, BytesInRows) {
  const std::vector<uint8_t> data = {1, 2, 3, 4, 5, 6};
  const auto output = ReadOutput({data.data(), 6, "uint8", "HWC", 2, 1, 3});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(output->bytes);
  EXPECT_THAT(output->pixels.values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ReadOutputTest, RefusesWhatDoesNotFit) {
  const std::vector<uint8_t> data(24);
  for (const OutputView& view :
       std::vector<OutputView>{{data.data(), 6, "int8", "HWC", 2, 1, 3},
                               {data.data(), 6, "uint8", "NHWC", 2, 1, 3},
                               {data.data(), 5, "uint8", "HWC", 2, 1, 3},
                               {data.data(), 6, "float32", "HWC", 2, 1, 3},
                               {data.data(), 0, "uint8", "HWC", 0, 1, 3}}) {
    EXPECT_FALSE(ReadOutput(view).ok()) << view.dtype << view.layout;
  }
}

class CheckOutputTest : public ::testing::Test {
 protected:
  CheckOutputTest() {
    transform_.set_name("Invert");
    input_.values = {10, 20, 30};
    output_.pixels = MapValues(input_, [](double v) { return 255 - v; });
  }

  std::string Label() {
    return CheckOutput(transform_, implementation_, input_, output_)
        .value()
        .label;
  }

  Transform transform_;
  Implementation implementation_;
  Pixels input_{1, 1, 3};
  LibraryOutput output_;
};

TEST_F(CheckOutputTest, NoReference) { EXPECT_EQ(Label(), kUnchecked); }

TEST_F(CheckOutputTest, AgainstTheReference) {
  transform_.mutable_reference()->set_op("invert");
  transform_.mutable_reference()->set_kind(POINT);
  EXPECT_EQ(Label(), kExact);
  implementation_.set_unchecked("inverts now and then");
  EXPECT_EQ(Label(), kUnchecked);
}

TEST_F(CheckOutputTest, AWrongReferenceNamesTheTransform) {
  transform_.mutable_reference()->set_op("invrt");
  const auto result = CheckOutput(transform_, implementation_, input_, output_);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("transform Invert: there is no reference \"invrt\""));
}

// The output of a recipe for `bytes`, one pixel of three channels.
LibraryOutput Normalized(const std::vector<double>& pixel) {
  const std::vector<double> mean = {0.485, 0.456, 0.406};
  const std::vector<double> std = {0.229, 0.224, 0.225};
  LibraryOutput output{Pixels(1, 1, 3), false};
  for (int c = 0; c < 3; ++c) {
    const float value = static_cast<float>((pixel[c] / 255 - mean[c]) / std[c]);
    output.pixels.values[c] = 255.0 * value;
  }
  return output;
}

TEST(RecipeTest, BytesComeBackAsTheyWere) {
  const LibraryOutput back = UndoNormalization(
      Normalized({0, 128, 255}), {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
  EXPECT_TRUE(back.bytes);
  EXPECT_THAT(back.pixels.values, ElementsAre(0, 128, 255));
}

TEST(RecipeTest, WhatWasNotRoundedStaysSo) {
  const LibraryOutput back =
      UndoNormalization(Normalized({0.5, 128, 254}), {0.485, 0.456, 0.406},
                        {0.229, 0.224, 0.225});
  EXPECT_FALSE(back.bytes);
  EXPECT_NEAR(back.pixels.values[0], 0.5, 1e-3);
}

TEST(RecipeTest, MeanAndStdRepeatOverTheChannels) {
  LibraryOutput output{Pixels(1, 1, 4), false};
  const LibraryOutput back =
      UndoNormalization(output, {1.0 / 255, 2.0 / 255}, {1, 1});
  EXPECT_THAT(back.pixels.values, ElementsAre(1, 2, 1, 2));
}

TEST(RecipeTest, RepeatsChannels) {
  Pixels image(1, 1, 3);
  image.values = {1, 2, 3};
  EXPECT_THAT(RepeatChannels(image, 9).values,
              ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3));
}

TEST(CompareTest, WithTheOutputOfAnother) {
  const LibraryOutput flipped = {FlipVertically(Waves()), true};
  const auto label = [&](const Pixels& output) {
    return CompareWithOutput("mine", Waves(), flipped, {output, true});
  };
  EXPECT_EQ(label(flipped.pixels).label, kExact);
  EXPECT_EQ(label(Waves()).label, kNoop);
  EXPECT_EQ(label(Waves()).reference, "mine: the output is the input");
  const Comparison off = label(MapValues(
      flipped.pixels, [](double v) { return std::min(255., v + 1); }));
  EXPECT_EQ(off.label, kEquivalent);
  const Comparison inverted =
      label(MapValues(Waves(), [](double v) { return 255 - v; }));
  EXPECT_EQ(inverted.label, kDifferent);
  EXPECT_THAT(inverted.reference, HasSubstr("mine: PSNR"));
}

}  // namespace
}  // namespace feedrate
