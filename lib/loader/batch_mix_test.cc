#include "lib/loader/batch_mix.h"

#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

const SampleShape kShape = {2, 8, 10};

std::vector<float> Full(float value) {
  return std::vector<float>(kShape.values(), value);
}

TEST(BatchMixTest, MixupKeepsTheSum) {
  const MixPlan plan = DrawMix({MixKind::kMixup, 0.8}, kShape, 5);
  EXPECT_GT(plan.own_share, 0);
  EXPECT_LT(plan.own_share, 1);
  std::vector<float> a = Full(1), b = Full(3);
  MixPair(plan, kShape, a.data(), b.data());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], plan.own_share * 1 + (1 - plan.own_share) * 3, 1e-6);
    EXPECT_NEAR(a[i] + b[i], 4, 1e-6);
  }
}

TEST(BatchMixTest, CutMixSwapsTheShareItNames) {
  int boxes = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const MixPlan plan = DrawMix({MixKind::kCutMix, 1}, kShape, seed);
    std::vector<float> a = Full(0), b = Full(1);
    MixPair(plan, kShape, a.data(), b.data());
    double from_partner = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i] + b[i], 1);
      from_partner += a[i];
    }
    EXPECT_NEAR(from_partner / a.size(), 1 - plan.own_share, 1e-9);
    boxes += plan.height > 0 && plan.width > 0;
  }
  EXPECT_GT(boxes, 10);
}

TEST(BatchMixTest, TheShareIsBeta) {
  // Of Beta(0.5, 0.5) the variance is 1/8, of Beta(1, 1) 1/12.
  for (const auto& [alpha, variance] :
       {std::pair(0.5, 1 / 8.0), {1, 1 / 12.0}}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (uint64_t seed = 0; seed < kDraws; ++seed) {
      const double share =
          DrawMix({MixKind::kMixup, alpha}, kShape, seed * 7919).own_share;
      sum += share;
      squares += share * share;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5, 0.01);
    EXPECT_NEAR(squares / kDraws - mean * mean, variance, 0.004);
  }
}

TEST(BatchMixTest, PartnersFaceEachOther) {
  for (int size : {1, 2, 7}) {
    for (int i = 0; i < size; ++i) {
      EXPECT_EQ(MixPartner(MixPartner(i, size), size), i);
    }
  }
  EXPECT_EQ(MixPartner(3, 7), 3);
}

}  // namespace
}  // namespace feedrate
