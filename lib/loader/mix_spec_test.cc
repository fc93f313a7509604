#include "lib/loader/mix_spec.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TransformSpec Spec(const std::string& op, const std::string& batch_transform) {
  TransformSpec spec;
  spec.transform = "Mixup";
  spec.native_op = op;
  spec.loader.emplace().batch_transform = batch_transform;
  return spec;
}

TEST(MixSpecTest, WordsOfTheTransformSets) {
  TransformSpec spec = Spec(kMixupOp, "mixup");
  spec.params = {"alpha=0.8"};
  EXPECT_EQ(MixOptionsOf(spec)->kind, MixKind::kMixup);
  EXPECT_EQ(MixOptionsOf(spec)->alpha, 0.8);
  EXPECT_EQ(MixOptionsOf(Spec(kCutMixOp, "cutmix"))->kind, MixKind::kCutMix);
  EXPECT_EQ(MixOptionsOf(Spec(kCutMixOp, "cutmix"))->alpha, 1);
  EXPECT_EQ(MixOptionsOf(Spec("cv::flip", ""))->kind, MixKind::kNone);
}

TEST(MixSpecTest, MistakesAreNamed) {
  TransformSpec spec = Spec(kMixupOp, "mixup");
  for (const std::string alpha : {"0", "-1"}) {
    spec.params = {"alpha=" + alpha};
    EXPECT_THAT(std::string(MixOptionsOf(spec).status().message()),
                HasSubstr("alpha " + alpha));
  }
  spec.params = {"beta=1"};
  EXPECT_THAT(std::string(MixOptionsOf(spec).status().message()),
              HasSubstr("beta"));
}

}  // namespace
}  // namespace feedrate
