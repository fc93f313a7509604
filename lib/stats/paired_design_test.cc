#include "lib/stats/paired_design.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

PairedDesign Default(int max_pairs = 30, double level = 2e-5) {
  return {DefaultLooks(max_pairs), level, 2};
}

std::vector<double> Noise(int n, double shift, double sd, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(shift, sd);
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(normal(random));
  return values;
}

TEST(PairedDesignTest, LevelKeepsTheSuitesPromise) {
  EXPECT_DOUBLE_EQ(LevelFor(1), 2e-5);
  EXPECT_DOUBLE_EQ(LevelFor(500), 2e-5);
  EXPECT_DOUBLE_EQ(LevelFor(5000), 2e-6);
  EXPECT_DOUBLE_EQ(LevelFor(0), 2e-5);
}

TEST(PairedDesignTest, DefaultLooks) {
  EXPECT_EQ(DefaultLooks(30), (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(DefaultLooks(12), (std::vector<int>{10, 12}));
  EXPECT_EQ(DefaultLooks(5), (std::vector<int>{5}));
}

TEST(PairedDesignTest, SharesNeverExceedTheLevel) {
  for (const int max_pairs : {5, 12, 18, 24, 30, 60, 200}) {
    for (const double level : {2e-5, 1e-6, 0.01}) {
      const PairedDesign design = Default(max_pairs, level);
      double sum = 0;
      for (size_t i = 0; i < design.looks.size(); ++i) {
        const double share = ShareOfLook(design, i);
        EXPECT_GE(share, 0);
        sum += share;
      }
      EXPECT_LE(2 * sum, level * (1 + 1e-9));
      EXPECT_GT(2 * sum, 0.99 * level);
    }
  }
}

TEST(PairedDesignTest, TenPairsCannotProveAnything) {
  EXPECT_EQ(ShareOfLook(Default(), 0), 0);
  EXPECT_EQ(LookAt(std::vector<double>(10, 0.5), Default(), 0).verdict,
            PairedVerdict::kCannotTell);
}

TEST(PairedDesignTest, Verdicts) {
  const PairedDesign design = Default();
  EXPECT_EQ(LookAt(Noise(20, 0.05, 0.01, 1), design, 1).verdict,
            PairedVerdict::kSlower);
  EXPECT_EQ(LookAt(Noise(20, -0.05, 0.01, 1), design, 1).verdict,
            PairedVerdict::kFaster);
  EXPECT_EQ(LookAt(Noise(10, 0, 0.005, 1), design, 0).verdict,
            PairedVerdict::kSame);
  EXPECT_EQ(LookAt(Noise(30, 0, 0.2, 1), design, 2).verdict,
            PairedVerdict::kCannotTell);
}

TEST(PairedDesignTest, AProvedButSmallChangeIsTheSame) {
  const PairedLook look = LookAt(Noise(30, 0.005, 0.001, 1), Default(), 2);
  EXPECT_EQ(look.verdict, PairedVerdict::kSame);
  EXPECT_TRUE(look.is_small_change);
}

TEST(PairedDesignTest, OneWildPairHidesNothing) {
  std::vector<double> values = Noise(30, 0.05, 0.01, 1);
  values[7] = -2;
  EXPECT_EQ(LookAt(values, Default(), 2).verdict, PairedVerdict::kSlower);
}

TEST(PairedDesignTest, PValueIsTwoSided) {
  const std::vector<double> values(30, 0.05);
  EXPECT_DOUBLE_EQ(LookAt(values, Default(), 2, true).p_value,
                   std::ldexp(1, -29));
}

// The floor is what it says: seen about 95 times in 100.
TEST(PairedDesignTest, FloorIsSeenNineteenTimesOfTwenty) {
  const PairedDesign design{{30}, 2e-5, 2};
  const double floor = FloorOf(0.02, 30, ShareOfLook(design, 0));
  EXPECT_GT(floor, 0.02);
  int seen = 0;
  for (int i = 0; i < 400; ++i) {
    seen += LookAt(Noise(30, floor, 0.02, i), design, 0).verdict ==
            PairedVerdict::kSlower;
  }
  EXPECT_GE(seen, 360);
  EXPECT_LE(seen, 396);
  EXPECT_TRUE(std::isinf(FloorOf(0.02, 10, 1e-5)));
}

TEST(PairedDesignTest, LooksFollowTheWantedPower) {
  const std::vector<int> quiet = LooksFor(0.005, 2e-5, 2, 30);
  const std::vector<int> usual = LooksFor(0.0141, 2e-5, 2, 60);
  EXPECT_LT(quiet.back(), 25);
  EXPECT_GE(quiet.back(), 17);
  EXPECT_NEAR(usual.back(), 30, 4);
  EXPECT_EQ(LooksFor(0.2, 2e-5, 2, 30), DefaultLooks(30));
}

TEST(PairedDesignTest, Names) {
  EXPECT_EQ(PairedVerdictName(PairedVerdict::kSame), "same");
  EXPECT_EQ(PairedVerdictName(PairedVerdict::kFaster), "faster");
  EXPECT_EQ(PairedVerdictName(PairedVerdict::kSlower), "slower");
  EXPECT_EQ(PairedVerdictName(PairedVerdict::kCannotTell), "cannot_tell");
}

}  // namespace
}  // namespace feedrate
