#include "lib/model/mixer_flops.h"

#include <gtest/gtest.h>

#include <cmath>

namespace feedrate {
namespace {

double Total(const std::string& mixer, int64_t length) {
  MixerShape shape;
  shape.length = length;
  return TotalOf(*CountMixer(mixer, shape)).forward_flops;
}

// What doubling the length does to the cost.
double Growth(const std::string& mixer, int64_t length) {
  return Total(mixer, 2 * length) / Total(mixer, length);
}

TEST(MixerFlopsTest, AttentionIsThatOfTheModel) {
  MixerShape shape;
  shape.length = 201;
  const std::vector<FlopsPart> parts = *CountMixer("attention", shape);
  EXPECT_EQ(12 * parts[0].forward_flops, 2845310976);
  EXPECT_EQ(12 * parts[1].forward_flops, 744671232);
}

TEST(MixerFlopsTest, AttentionBecomesQuadraticTheOthersDoNot) {
  EXPECT_GT(Growth("attention", 1 << 18), 3.9);
  EXPECT_LT(Growth("hyena", 1 << 18), 2.1);
  EXPECT_LT(Growth("ckconv", 1 << 18), 2.1);
  EXPECT_GT(Growth("hyena", 1 << 18), 2);
}

TEST(MixerFlopsTest, AttentionIsCheaperThanHyenaOnlyWhileShort) {
  EXPECT_LT(Total("attention", 128), Total("hyena", 128));
  EXPECT_GT(Total("attention", 65536), 10 * Total("hyena", 65536));
}

TEST(MixerFlopsTest, LongConvolutionIsThreeTransformsAndAProduct) {
  MixerShape shape;
  shape.length = 1024;
  shape.width = 1;
  const FlopsPart part = (*CountMixer("ckconv", shape))[0];
  EXPECT_EQ(part.name, "long_convolution");
  EXPECT_EQ(part.forward_flops, 3 * (5 * 2048 * 11) / 2 + 6 * 1025);
}

TEST(MixerFlopsTest, UnknownMixer) {
  EXPECT_EQ(CountMixer("heyna", MixerShape()).status().message(),
            "mixer \"heyna\" is unknown; did you mean \"hyena\"?");
}

}  // namespace
}  // namespace feedrate
