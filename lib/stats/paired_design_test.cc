#include "lib/stats/paired_design.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

// Computes the p-value by trying all patterns.
double Brute(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  int count = 0;
  const int patterns = 1 << values.size();
  for (int pattern = 0; pattern < patterns; ++pattern) {
    double flipped = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const double size = std::abs(values[i]);
      flipped += (pattern >> i) & 1 ? size : -size;
    }
    if (flipped >= sum - 1e-9) ++count;
  }
  return static_cast<double>(count) / patterns;
}

TEST(SignFlipTest, CountsAsBruteForceDoes) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int n = 1; n <= 14; ++n) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(normal(random) + 0.5);
      EXPECT_DOUBLE_EQ(SignFlipPValue(values), Brute(values)) << n;
    }
  }
}

TEST(SignFlipTest, TiesCount) {
  EXPECT_DOUBLE_EQ(SignFlipPValue({1, 1, 1, -1}), Brute({1, 1, 1, -1}));
  EXPECT_DOUBLE_EQ(SignFlipPValue({0.1, 0.2, -0.3}), Brute({.1, .2, -.3}));
  EXPECT_DOUBLE_EQ(SignFlipPValue({0, 0, 0}), 1);
}

TEST(SignFlipTest, AllOfOneSignIsTheSmallest) {
  const std::vector<double> values(30, 0.01);
  EXPECT_DOUBLE_EQ(SignFlipPValue(values), std::ldexp(1, -30));
  EXPECT_DOUBLE_EQ(SmallestSignFlipPValue(30), std::ldexp(1, -30));
  EXPECT_DOUBLE_EQ(SignFlipPValue(std::vector<double>(30, -0.01)), 1);
}

TEST(SignFlipTest, StopsEarlyOnlyAboveTheLimit) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> values;
    for (int i = 0; i < 16; ++i) values.push_back(normal(random) + 0.6);
    const double exact = SignFlipPValue(values);
    const double quick = SignFlipPValue(values, 1e-3);
    EXPECT_EQ(quick > 1e-3, exact > 1e-3);
    if (quick <= 1e-3) {
      EXPECT_DOUBLE_EQ(quick, exact);
    }
  }
}

TEST(SignFlipTest, TheBoundForManyPairsIsAboveTheExactValue) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<double> values;
    for (int i = 0; i < kMaxExactFlips; ++i) {
      values.push_back(normal(random) + 0.6);
    }
    const double exact = SignFlipPValue(values);
    // A pair without a difference changes only the method.
    values.push_back(0);
    EXPECT_GE(SignFlipPValue(values), exact);
    EXPECT_LE(SignFlipPValue(values), 200 * exact);
  }
  EXPECT_LT(SmallestSignFlipPValue(100), 1e-20);
}

// False alarms are as rare as the test says, even in the worst noise.
TEST(SignFlipTest, KeepsItsLevelOnCauchyNoise) {
  std::mt19937 random(4);
  std::cauchy_distribution<double> cauchy;
  int alarms = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 12; ++i) values.push_back(cauchy(random));
    alarms += SignFlipPValue(LimitedScores(values)) <= 0.05;
  }
  EXPECT_LE(alarms, kTrials * 0.05 + 4 * std::sqrt(kTrials * 0.05));
  EXPECT_GE(alarms, kTrials * 0.03);
}

TEST(LimitedScoresTest, CutsOnlyWhatIsFarOut) {
  const std::vector<double> scores = LimitedScores({1, -1, 1.2, 0.9, -50, 1});
  EXPECT_DOUBLE_EQ(scores[2], 1.2);
  EXPECT_DOUBLE_EQ(scores[4], -1.25);
  EXPECT_TRUE(LimitedScores({}).empty());
  // Ties do not decide how much is far out.
  EXPECT_EQ(LimitedScores({0, 0, 0, 1, -1, 50}),
            std::vector<double>({0, 0, 0, 1, -1, 1.25}));
}

TEST(SignedRankTest, EstimateIsTheMedianOfMeans) {
  EXPECT_DOUBLE_EQ(LocationOf({3}, 0.99).estimate, 3);
  // Means: 1, 1.5, 2, 5.5, 6, 10.
  EXPECT_DOUBLE_EQ(LocationOf({1, 2, 10}, 0.99).estimate, 3.75);
  EXPECT_FALSE(LocationOf({3}, 0.99).interval.has_value());
  EXPECT_TRUE(LocationOf({0, 0.01}, 0.99).interval.has_value());
  EXPECT_FALSE(LocationOf({0, 0.3}, 0.99).interval.has_value());
}

// Published critical values of the signed-rank test, two-sided 1%: T <= 3 at n
// = 10, 37 at 20, 109 at 30.
TEST(SignedRankTest, AgreesWithPublishedTables) {
  EXPECT_EQ(MeansOutside(7, 0.99), -1);
  EXPECT_EQ(MeansOutside(8, 0.99), 0);
  EXPECT_EQ(MeansOutside(10, 0.99), 3);
  EXPECT_EQ(MeansOutside(20, 0.99), 37);
  EXPECT_EQ(MeansOutside(30, 0.99), 109);
  EXPECT_EQ(MeansOutside(20, 0.95), 52);
}

TEST(SignedRankTest, ManyValuesUseTheNormalLimit) {
  EXPECT_NEAR(MeansOutside(101, 0.99), MeansOutside(100, 0.99), 60);
}

TEST(SignedRankTest, CoversAsPromised) {
  std::mt19937 random(5);
  std::student_t_distribution<double> noise(3);
  for (const int n : {4, 10, 25}) {
    int held = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(7 + 0.01 * noise(random));
      const Location location = LocationOf(values, 0.95);
      ASSERT_TRUE(location.interval.has_value());
      EXPECT_LE(location.interval->low, location.estimate);
      EXPECT_GE(location.interval->high, location.estimate);
      held += location.interval->low <= 7 && 7 <= location.interval->high;
    }
    EXPECT_GE(held, 0.95 * kTrials - 4 * std::sqrt(0.05 * kTrials)) << n;
  }
}

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
  EXPECT_EQ(DefaultLooks(30), (std::vector<int>{8, 10, 12, 15, 19, 23, 30}));
  EXPECT_EQ(DefaultLooks(12), (std::vector<int>{8, 12}));
  EXPECT_EQ(DefaultLooks(5), (std::vector<int>{5}));
  // A stricter level needs more pairs to prove anything, a laxer one fewer.
  EXPECT_EQ(DefaultLooks(30, 2e-6),
            (std::vector<int>{8, 10, 12, 15, 18, 23, 30}));
  EXPECT_EQ(DefaultLooks(20, 0.1), (std::vector<int>{7, 8, 10, 12, 15, 20}));
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

TEST(PairedDesignTest, FewPairsCannotProveAnything) {
  for (int look = 0; look < 4; ++look) {
    EXPECT_EQ(ShareOfLook(Default(), look), 0);
  }
  EXPECT_EQ(LookAt(std::vector<double>(15, 0.5), Default(), 3).verdict,
            PairedVerdict::kCannotTell);
  // The first look that can prove a change does.
  EXPECT_EQ(LeastPairs(ShareOfLook(Default(), 4)), 19);
  EXPECT_EQ(LookAt(std::vector<double>(19, 0.5), Default(), 4).verdict,
            PairedVerdict::kSlower);
}

// Wherever it stops, a test of pure noise is wrong as rarely as promised.
TEST(PairedDesignTest, AllLooksTogetherKeepTheLevel) {
  const PairedDesign design{DefaultLooks(20, 0.1), 0.1, 2};
  std::mt19937 random(6);
  std::cauchy_distribution<double> cauchy;
  int alarms = 0;
  constexpr int kTrials = 3000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 20; ++i) values.push_back(cauchy(random));
    for (size_t look = 0; look < design.looks.size(); ++look) {
      const PairedLook seen = LookAt(
          absl::MakeSpan(values).subspan(0, design.looks[look]), design, look);
      if (seen.p_value > 2 * ShareOfLook(design, look)) continue;
      ++alarms;
      break;
    }
  }
  EXPECT_LE(alarms, 0.1 * kTrials + 3 * std::sqrt(0.1 * kTrials));
  EXPECT_GE(alarms, 0.05 * kTrials);
}

TEST(PairedDesignTest, Verdicts) {
  const PairedDesign design = Default();
  EXPECT_EQ(LookAt(Noise(19, 0.05, 0.01, 1), design, 4).verdict,
            PairedVerdict::kSlower);
  EXPECT_EQ(LookAt(Noise(19, -0.05, 0.01, 1), design, 4).verdict,
            PairedVerdict::kFaster);
  EXPECT_EQ(LookAt(Noise(8, 0, 0.005, 1), design, 0).verdict,
            PairedVerdict::kSame);
  EXPECT_EQ(LookAt(Noise(30, 0, 0.2, 1), design, 6).verdict,
            PairedVerdict::kCannotTell);
}

TEST(PairedDesignTest, AProvedButSmallChangeIsTheSame) {
  const PairedLook look = LookAt(Noise(30, 0.005, 0.001, 1), Default(), 6);
  EXPECT_EQ(look.verdict, PairedVerdict::kSame);
  EXPECT_TRUE(look.is_small_change);
}

TEST(PairedDesignTest, OneWildPairHidesNothing) {
  std::vector<double> values = Noise(30, 0.05, 0.01, 1);
  values[7] = -2;
  EXPECT_EQ(LookAt(values, Default(), 6).verdict, PairedVerdict::kSlower);
}

TEST(PairedDesignTest, PValueIsTwoSided) {
  const std::vector<double> values(30, 0.05);
  EXPECT_DOUBLE_EQ(LookAt(values, Default(), 6, true).p_value,
                   std::ldexp(1, -29));
}

// A change of the size of the floor is detected about 95 times in 100.
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
