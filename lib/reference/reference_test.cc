#include "lib/reference/reference.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/reference/random_transforms.h"
#include "lib/reference/testing.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Pixels Uneven(int channels) {
  Pixels image(40, 50, channels);
  for (size_t i = 0; i < image.values.size(); ++i) {
    image.values[i] = (i * i * 31 + 7 * i) % 256;
  }
  return image;
}

std::string Complaint(const Reference& reference) {
  return std::string(ComputeReference(reference, Uneven(3)).status().message());
}

TEST(ReferenceTest, PassesParametersOn) {
  Pixels image(1, 2, 3);
  image.values = {10, 20, 30, 40, 50, 60};
  const auto outputs = ComputeReference(
      Ref("shift_channels", POINT, {"shifts=(1,-2,3)"}), image);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_THAT(*outputs, SizeIs(1));
  EXPECT_THAT((*outputs)[0].values, ElementsAre(11, 18, 33, 41, 48, 63));
}

TEST(ReferenceTest, EqualChoicesAreAllThere) {
  EXPECT_THAT(*ComputeReference(Ref("rotate_some_quarters", POINT), Uneven(3)),
              SizeIs(4));
  EXPECT_THAT(*ComputeReference(Ref("drop_some_channel", POINT), Uneven(9)),
              SizeIs(9));
  EXPECT_THAT(*ComputeReference(
                  Ref("jitter_in_some_channel_order", POINT,
                      {"brightness=0.5", "contrast=0.8", "saturation=0.8"}),
                  Uneven(3)),
              SizeIs(6));
}

TEST(ReferenceTest, NamesWhatIsWrong) {
  EXPECT_EQ(Complaint(Ref("blurr", POINT)), "there is no reference \"blurr\"");
  EXPECT_EQ(Complaint(Ref("gamma", POINT)),
            "reference gamma: gamma is missing");
  EXPECT_EQ(Complaint(Ref("invert", POINT, {"x=1"})),
            "reference invert has no parameter \"x\"");
  EXPECT_EQ(Complaint(Ref("posterize", POINT, {"bits=9"})),
            "reference posterize: bits is above 8");
  EXPECT_EQ(Complaint(Ref("median", POINT, {"size=4", "border=reflect"})),
            "reference median: size is not odd");
  EXPECT_THAT(Complaint(Ref("jitter", POINT,
                            {"brightness=1.5", "contrast=1", "saturation=1"})),
              HasSubstr("not in 0..1"));
}

TEST(ReferenceTest, ColorNeedsThreeChannels) {
  const auto outputs = ComputeReference(Ref("grayscale", POINT), Uneven(4));
  EXPECT_EQ(outputs.status().message(),
            "reference grayscale: the image has 4 channels, not a multiple of "
            "three");
  EXPECT_FALSE(ComputeReference(Ref("invert", POINT), Pixels()).ok());
}

TEST(ReferenceTest, Text) {
  EXPECT_EQ(ReferenceText(Ref("gaussian_blur", POINT, {"size=5", "sigma=2"})),
            "gaussian_blur size=5 sigma=2");
}

// Every reference of the catalogue can be computed, and no operation is unused.
TEST(ReferenceTest, TheCatalogueUsesEveryOperation) {
  const Catalogue catalogue = Catalogue::Load("configs").value();
  std::set<std::string> used;
  for (const char* name : {"image-rgb", "image-9ch"}) {
    const TransformSet* set =
        catalogue.Transforms(*catalogue.FindScenario(name)).value();
    const Pixels image = Uneven(std::string(name) == "image-rgb" ? 3 : 9);
    for (const Transform& transform : set->transforms()) {
      const Reference& reference = transform.reference();
      if (reference.op().empty()) continue;
      used.insert(reference.op());
      if (reference.kind() == DISTRIBUTION) {
        const auto check = CheckDraw(reference, image, image);
        EXPECT_TRUE(check.ok()) << transform.name() << check.status();
        continue;
      }
      const auto outputs = ComputeReference(reference, image);
      ASSERT_TRUE(outputs.ok()) << transform.name() << outputs.status();
      for (const Pixels& output : *outputs) {
        EXPECT_THAT(output.values,
                    SizeIs(output.height * output.width * output.channels))
            << transform.name();
        const auto range =
            std::minmax_element(output.values.begin(), output.values.end());
        EXPECT_GE(*range.first, -1e-9) << transform.name();
        EXPECT_LE(*range.second, 255 + 1e-9) << transform.name();
      }
    }
  }
  std::vector<std::string> known = ReferenceOps();
  for (const std::string& op : DistributionOps()) known.push_back(op);
  for (const std::string& op : known) EXPECT_EQ(used.count(op), 1) << op;
}

std::string Complaint(const Arguments& arguments) {
  return std::string(arguments.Finish().message());
}

TEST(ArgumentsTest, ReadsEachKind) {
  Arguments arguments(
      "blur", {"sigma=2.5", "size=5", "shift=(-1,0.5)", "border=replicate"});
  EXPECT_EQ(arguments.Number("sigma"), 2.5);
  EXPECT_EQ(arguments.Integer("size"), 5);
  EXPECT_THAT(arguments.Numbers("shift", 2), ElementsAre(-1, 0.5));
  EXPECT_EQ(arguments.Word("border", {"zero", "replicate"}), "replicate");
  EXPECT_EQ(arguments.NumberOr("gain", 7), 7);
  EXPECT_TRUE(arguments.Finish().ok()) << arguments.Finish();
}

TEST(ArgumentsTest, NobodyReadIt) {
  Arguments arguments("blur", {"size=5", "sise=3"});
  arguments.Integer("size");
  EXPECT_EQ(Complaint(arguments), "reference blur has no parameter \"sise\"");
}

TEST(ArgumentsTest, TheFirstMistakeIsKept) {
  Arguments arguments("blur", {"size=5.5"});
  EXPECT_EQ(arguments.Integer("size"), 0);
  EXPECT_EQ(arguments.Number("sigma"), 0);
  EXPECT_EQ(Complaint(arguments), "reference blur: size is not a whole number");
}

TEST(ArgumentsTest, RefusesWhatIsNoNumber) {
  for (const char* param : {"a=", "a=x", "a=nan", "a=1e999"}) {
    Arguments arguments("op", {param});
    arguments.Number("a");
    EXPECT_THAT(Complaint(arguments), HasSubstr("not a number")) << param;
  }
}

TEST(ArgumentsTest, RefusesOtherLists) {
  for (const char* param : {"a=1,2", "a=(1)", "a=(1,2,3)", "a=()"}) {
    Arguments arguments("op", {param});
    EXPECT_THAT(arguments.Numbers("a", 2), ElementsAre(0, 0));
    EXPECT_FALSE(arguments.Finish().ok()) << param;
  }
}

TEST(ArgumentsTest, NamesTheWords) {
  Arguments arguments("op", {"border=mirror"});
  arguments.Word("border", {"zero", "replicate"});
  EXPECT_EQ(Complaint(arguments),
            "reference op: border is \"mirror\" instead of one of zero, "
            "replicate");
}

}  // namespace
}  // namespace feedrate
