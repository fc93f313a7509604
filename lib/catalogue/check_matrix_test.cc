#include "lib/catalogue/check_matrix.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/text_proto.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr char kPolicy[] = R"(
  modes { mode: "micro" media: "image" scopes: "augmentation_only" }
)";

constexpr char kGood[] = R"(
  scenarios { name: "image-rgb" short_name: "rgb" media: "image" channels: 3
              public_libraries: ["kornia"] }
  libraries { name: "kornia" origin: "public" }
  combinations { scenario: "image-rgb" library: "kornia" mode: "micro"
                 device: "cuda" scopes: "augmentation_only" status: SUPPORTED }
  exceptions { scenario: "image-rgb" library: "kornia" transforms: "Shear"
               status: EXCLUDED reason: "It mixes tensors." }
)";

Matrix Good() {
  Matrix matrix;
  EXPECT_TRUE(ParseTextProto(kGood, "good", &matrix).ok());
  return matrix;
}

std::string ErrorOf(const Matrix& matrix) {
  Policy policy;
  EXPECT_TRUE(ParseTextProto(kPolicy, "policy", &policy).ok());
  return std::string(CheckMatrix(matrix, policy, "m").message());
}

TEST(CheckMatrixTest, AcceptsTheSmallestMatrix) {
  EXPECT_EQ(ErrorOf(Good()), "");
}

TEST(CheckMatrixTest, EmptyMatrixIsNone) {
  EXPECT_EQ(ErrorOf(Matrix()), "m: no libraries");
  Matrix matrix = Good();
  matrix.clear_scenarios();
  EXPECT_EQ(ErrorOf(matrix), "m: no scenarios");
}

TEST(CheckMatrixTest, ScenariosAreWhole) {
  Matrix matrix = Good();
  matrix.mutable_scenarios(0)->clear_short_name();
  EXPECT_EQ(ErrorOf(matrix),
            "m: scenarios[0] (image-rgb): short_name is missing");
  matrix = Good();
  matrix.mutable_scenarios(0)->set_media("clip");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("clips need a clip_length"));
  matrix = Good();
  matrix.mutable_scenarios(0)->set_clip_length(16);
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("images have no clip_length"));
  matrix = Good();
  matrix.mutable_scenarios(0)->set_channels(0);
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("channels must be at least 1"));
  matrix = Good();
  matrix.mutable_scenarios(0)->set_public_libraries(0, "kornai");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("did you mean \"kornia\"?"));
}

TEST(CheckMatrixTest, NamesAreUnique) {
  Matrix matrix = Good();
  *matrix.add_libraries() = matrix.libraries(0);
  EXPECT_EQ(ErrorOf(matrix), "m: libraries[1] (kornia): this name is taken");
  matrix = Good();
  *matrix.add_scenarios() = matrix.scenarios(0);
  EXPECT_EQ(ErrorOf(matrix), "m: scenarios[1] (image-rgb): this name is taken");
  matrix = Good();
  *matrix.add_combinations() = matrix.combinations(0);
  EXPECT_EQ(ErrorOf(matrix),
            "m: combinations[1] (image-rgb, kornia, micro, cuda): another "
            "combination has one of its scopes");
}

TEST(CheckMatrixTest, OriginIsOneOfTwo) {
  Matrix matrix = Good();
  matrix.mutable_libraries(0)->set_origin("theirs");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("origin \"theirs\" is unknown"));
}

TEST(CheckMatrixTest, CombinationsReferToWhatIsThere) {
  Matrix matrix = Good();
  matrix.mutable_combinations(0)->set_scenario("image-rbg");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("did you mean \"image-rgb\"?"));
  matrix = Good();
  matrix.mutable_combinations(0)->set_library("x");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("library \"x\" is unknown"));
  matrix = Good();
  matrix.mutable_combinations(0)->set_device("mps");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("device \"mps\" is unknown"));
  matrix = Good();
  matrix.mutable_combinations(0)->set_scopes(0, "decode_only");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("scope \"decode_only\" is unknown"));
  matrix = Good();
  matrix.mutable_combinations(0)->clear_scopes();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("no scopes"));
  matrix = Good();
  matrix.mutable_combinations(0)->set_mode("train");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("the policy has no such mode"));
  matrix = Good();
  matrix.mutable_combinations(0)->add_labels("slowish");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("label \"slowish\" is unknown"));
}

TEST(CheckMatrixTest, StatusAndReason) {
  Matrix matrix = Good();
  matrix.mutable_combinations(0)->set_status(static_cast<CombinationStatus>(9));
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is unknown"));
  matrix.mutable_combinations(0)->clear_status();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is missing"));
  matrix = Good();
  matrix.mutable_combinations(0)->set_status(REJECTED);
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("REJECTED needs a reason"));
  matrix = Good();
  matrix.mutable_combinations(0)->set_status(HOST_CPU);
  matrix.mutable_combinations(0)->set_device("cpu");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("HOST_CPU is for device cuda"));
}

TEST(CheckMatrixTest, ExceptionsAreWhole) {
  Matrix matrix = Good();
  matrix.mutable_exceptions(0)->clear_reason();
  EXPECT_EQ(ErrorOf(matrix),
            "m: exceptions[0] (image-rgb, kornia): reason is missing");
  matrix = Good();
  matrix.mutable_exceptions(0)->set_status(static_cast<CellStatus>(9));
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is unknown"));
  matrix.mutable_exceptions(0)->clear_status();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is missing"));
  matrix = Good();
  matrix.mutable_exceptions(0)->clear_transforms();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("no transforms"));
  matrix = Good();
  matrix.mutable_exceptions(0)->set_mode("macro");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("did you mean \"micro\"?"));
}

TEST(CheckMatrixTest, ExceptionsNameTransformsOfTheSet) {
  const Matrix matrix = Good();
  TransformSet set;
  set.add_transforms()->set_name("Shear");
  EXPECT_TRUE(CheckExceptions(matrix, matrix.scenarios(0), set, "m").ok());
  set.mutable_transforms(0)->set_name("Sheer");
  EXPECT_EQ(CheckExceptions(matrix, matrix.scenarios(0), set, "m").message(),
            "m: exceptions[0] (kornia): transform \"Shear\" is unknown; did "
            "you mean \"Sheer\"?");
}

}  // namespace
}  // namespace feedrate
