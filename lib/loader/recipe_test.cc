#include "lib/loader/recipe.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TransformSpec Steps(std::vector<std::string> params) {
  TransformSpec spec;
  spec.transform = "Several";
  spec.native_op = kStepsOp;
  spec.params = std::move(params);
  return spec;
}

TEST(RecipeTest, ATransformIsOneStep) {
  TransformSpec spec;
  spec.native_op = "cv::flip";
  spec.params = {"flip_code=1"};
  const auto steps = StepsOf(spec);
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ((*steps)[0].one_of[0].native_op, "cv::flip");
  EXPECT_EQ((*steps)[0].probability, 1);
  EXPECT_TRUE(StepsOf(TransformSpec())->empty());
}

TEST(RecipeTest, StepsWithAlternatives) {
  const auto steps = StepsOf(
      Steps({"step1=0.5 cv::flip{flip_code=1}",
             "step2=cv::bitwise_not | cv::blur{ksize=(3,3);border_mode=X}"}));
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_EQ((*steps)[0].probability, 0.5);
  EXPECT_THAT((*steps)[0].one_of[0].params, ElementsAre("flip_code=1"));
  ASSERT_EQ((*steps)[1].one_of.size(), 2u);
  EXPECT_EQ((*steps)[1].probability, 1) << "words before a space are no number";
  EXPECT_EQ((*steps)[1].one_of[0].native_op, "cv::bitwise_not");
  EXPECT_EQ((*steps)[1].one_of[0].transform, "Several");
  EXPECT_THAT((*steps)[1].one_of[1].params,
              ElementsAre("ksize=(3,3)", "border_mode=X"));
}

TEST(RecipeTest, NamesTheStepThatIsWrong) {
  const auto message = [](const std::string& step) {
    return std::string(StepsOf(Steps({step})).status().message());
  };
  EXPECT_THAT(message("flip"), HasSubstr("begin with step1="));
  EXPECT_THAT(message("step=1.5 cv::flip"), HasSubstr("0..1"));
  EXPECT_THAT(message("step=cv::flip{flip_code=1"), HasSubstr("closing brace"));
  EXPECT_THAT(message("step=cv::flip |"), HasSubstr("no operation"));
}

}  // namespace
}  // namespace feedrate
