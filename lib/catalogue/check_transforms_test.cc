#include "lib/catalogue/check_transforms.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/text_proto.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  Matrix matrix;
  EXPECT_TRUE(ParseTextProto(R"(scenarios { name: "image-rgb" }
                                libraries { name: "kornia" })",
                             "matrix", &matrix)
                  .ok());
  TransformSet set;
  EXPECT_TRUE(ParseTextProto(text, "set", &set).ok());
  return std::string(
      CheckTransforms(set, matrix.scenarios(0), matrix, "t").message());
}

// A set of one transform with one implementation, whose fields are `fields`.
std::string With(const std::string& fields) {
  return "scenario: \"image-rgb\" transforms { name: \"Blur\" "
         "implementations { " +
         fields + " } }";
}

TEST(CheckTransformsTest, AcceptsAWholeImplementation) {
  EXPECT_EQ(ErrorOf(With(R"txt(library: "kornia" native_op: "RandomBoxBlur"
                            params: ["a=1", "b=(2,3)", "c=x=y"]
                            library_defaults: ["a=1"] modes: "micro")txt")),
            "");
}

TEST(CheckTransformsTest, TheFileIsThatOfTheScenario) {
  EXPECT_THAT(ErrorOf("scenario: \"image-9ch\""),
              HasSubstr("scenario is \"image-9ch\""));
}

TEST(CheckTransformsTest, NamesAreThereAndUnique) {
  EXPECT_EQ(ErrorOf("scenario: \"image-rgb\" transforms { }"),
            "t: transforms[0]: name is missing");
  EXPECT_EQ(ErrorOf("scenario: \"image-rgb\" transforms { name: \"Blur\" }"),
            "t: transforms[0] (Blur): no implementations");
  const std::string blur =
      "transforms { name: \"Blur\" implementations { library: \"kornia\" "
      "native_op: \"x\" } }";
  EXPECT_EQ(ErrorOf("scenario: \"image-rgb\"" + blur + blur),
            "t: transforms[1] (Blur): this name is taken");
}

TEST(CheckTransformsTest, ImplementationsAreWhole) {
  EXPECT_EQ(ErrorOf(With("library: \"kornai\" native_op: \"x\"")),
            "t: transforms[0] (Blur, kornai): library \"kornai\" is unknown; "
            "did you mean \"kornia\"?");
  EXPECT_EQ(ErrorOf(With("library: \"kornia\"")),
            "t: transforms[0] (Blur, kornia): native_op is missing");
  EXPECT_THAT(ErrorOf(With("library: \"kornia\" native_op: \"x\" "
                           "params_profile: \"fast\"")),
              HasSubstr("params_profile \"fast\" is unknown"));
  EXPECT_THAT(ErrorOf(With("library: \"kornia\" native_op: \"x\" "
                           "modes: \"macro\"")),
              HasSubstr("did you mean \"micro\"?"));
  EXPECT_THAT(
      ErrorOf(With("library: \"kornia\" native_op: \"x\" } "
                   "implementations { library: \"kornia\" native_op: \"y\"")),
      HasSubstr("there twice for one profile"));
}

TEST(CheckTransformsTest, ParametersAreNameAndValue) {
  const std::string good = "library: \"kornia\" native_op: \"x\" ";
  EXPECT_THAT(ErrorOf(With(good + "params: \"size\"")),
              HasSubstr("params \"size\" is not of the form NAME=VALUE"));
  EXPECT_THAT(ErrorOf(With(good + "params: \"=5\"")),
              HasSubstr("is not of the form NAME=VALUE"));
  EXPECT_THAT(ErrorOf(With(good + "params: [\"a=1\", \"a=2\"]")),
              HasSubstr("params has \"a\" twice"));
  EXPECT_THAT(ErrorOf(With(good + "params: \"a=1\\n2\"")),
              HasSubstr("line break"));
  EXPECT_THAT(ErrorOf(With(good + "library_defaults: \"b\"")),
              HasSubstr("library_defaults \"b\""));
}

// A transform with the fields `fields` beside its implementation.
std::string WithReference(const std::string& fields) {
  return "scenario: \"image-rgb\" transforms { name: \"Blur\" reference { " +
         fields +
         " } implementations { library: \"kornia\" native_op: \"x\" } }";
}

TEST(CheckTransformsTest, ReferencesAreWhole) {
  EXPECT_EQ(ErrorOf(WithReference("op: \"blur\" kind: FILTER "
                                  "params: \"size=5\" min_psnr_db: 45")),
            "");
  EXPECT_EQ(ErrorOf(WithReference("unchecked: \"Drawn.\"")), "");
  EXPECT_EQ(ErrorOf(WithReference("kind: FILTER")),
            "t: transforms[0] (Blur): reference.op is missing");
  EXPECT_EQ(ErrorOf(WithReference("op: \"blur\"")),
            "t: transforms[0] (Blur): reference has no kind");
  EXPECT_THAT(ErrorOf(WithReference("op: \"blur\" unchecked: \"Drawn.\"")),
              HasSubstr("both unchecked and an op"));
  EXPECT_THAT(ErrorOf(WithReference("unchecked: \"\"")),
              HasSubstr("reference.unchecked is missing"));
  EXPECT_THAT(
      ErrorOf(WithReference("op: \"blur\" kind: FILTER params: \"size\"")),
      HasSubstr("reference.params \"size\" is not of the form"));
  EXPECT_THAT(
      ErrorOf(WithReference("op: \"blur\" kind: POINT max_abs_diff: -1")),
      HasSubstr("max_abs_diff"));
}

}  // namespace
}  // namespace feedrate
