#include "lib/runner/mixture/mixture_inputs.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

MixtureInput TwoSets(double first, double second) {
  MixtureInput input;
  input.sources = {{"bridge", first, {}}, {"droid", second, {}}};
  return input;
}

TEST(ApplyWeightsTest, ReplacesThoseThatAreNamed) {
  MixtureInput input = TwoSets(1, 2);
  ASSERT_TRUE(ApplyWeights({{"droid", 5}}, "fail", &input).ok());
  EXPECT_EQ(input.sources[0].weight, 1);
  EXPECT_EQ(input.sources[1].weight, 5);
  EXPECT_THAT(
      std::string(ApplyWeights({{"drod", 5}}, "fail", &input).message()),
      AllOf(HasSubstr("no data set \"drod\""), HasSubstr("droid")));
}

TEST(ApplyWeightsTest, AWeightNotAboveZeroIsAnErrorOrASkip) {
  for (const double weight : {0.0, -2.0}) {
    MixtureInput input = TwoSets(1, weight);
    EXPECT_THAT(std::string(ApplyWeights({}, "fail", &input).message()),
                AllOf(HasSubstr("data set \"droid\": weight"),
                      HasSubstr("--on_error=skip")));
    input = TwoSets(1, weight);
    ASSERT_TRUE(ApplyWeights({}, "skip", &input).ok());
    EXPECT_THAT(input.sources, SizeIs(1));
    EXPECT_THAT(input.left_out, ElementsAre("droid"));
    EXPECT_THAT(input.left_out_reasons, SizeIs(1));
  }
}

TEST(ApplyWeightsTest, SomethingMustBeLeft) {
  MixtureInput input = TwoSets(0, 0);
  EXPECT_THAT(std::string(ApplyWeights({}, "skip", &input).message()),
              HasSubstr("no data set has one above 0"));
}

}  // namespace
}  // namespace feedrate
