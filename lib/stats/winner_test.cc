#include "lib/stats/winner.h"

#include <random>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

Contestant Of(std::vector<double> runs, int64_t disturbed = 0,
              const std::string& label = "exact") {
  Contestant one;
  one.summary = Summarize(absl::MakeSpan(runs));
  one.disturbed = disturbed;
  one.work = WorkOfLabel(label);
  return one;
}

TEST(SeparateTest, OneRunIsNoEvidenceHoweverFarApart) {
  const Separation found = Separate(Of({1000}), Of({1}));
  EXPECT_EQ(found.evidence, Evidence::kFewRuns);
  EXPECT_EQ(found.runs_needed, 3);
  EXPECT_FALSE(found.ratio.has_value());
}

TEST(SeparateTest, TwoRunsThatAgreeSeparateWhatIsFarApart) {
  EXPECT_EQ(Separate(Of({1000, 1010}), Of({100, 101})).evidence,
            Evidence::kSeparate);
  // 6% between runs leave a factor of 1.45 for each side.
  EXPECT_EQ(Separate(Of({1000, 1060}), Of({700, 742})).evidence,
            Evidence::kTied);
}

TEST(SeparateTest, TheIntervalOfTheRatioDecides) {
  const Contestant fast = Of({100, 102, 104, 101, 103, 102});
  EXPECT_EQ(Separate(fast, Of({90, 92, 94, 91, 93, 92})).evidence,
            Evidence::kSeparate);
  const Separation close = Separate(fast, Of({99, 101, 104, 100, 103, 101}));
  EXPECT_EQ(close.evidence, Evidence::kTied);
  ASSERT_TRUE(close.ratio.has_value());
  EXPECT_LT(close.ratio->low, 1);
  EXPECT_GT(close.ratio->high, 1);
  EXPECT_EQ(close.runs_needed, 0) << "1% at a spread of 1.4%";
  const Separation soon = Separate(fast, Of({95, 99, 103, 94, 100, 98}));
  EXPECT_EQ(soon.evidence, Evidence::kTied);
  EXPECT_EQ(soon.runs_needed, 10);
}

TEST(SeparateTest, DisturbedRunsAreNoEvidence) {
  const std::vector<double> fast = {100, 101, 102, 103, 104};
  const std::vector<double> slow = {10, 11, 12, 11, 10};
  EXPECT_EQ(Separate(Of(fast, 1), Of(slow, 1)).evidence, Evidence::kSeparate);
  EXPECT_EQ(Separate(Of(fast, 2), Of(slow)).evidence, Evidence::kDisturbed);
  EXPECT_EQ(Separate(Of(fast), Of(slow, 2)).evidence, Evidence::kDisturbed);
}

TEST(SeparateTest, OnlyTheSameWorkIsCompared) {
  const std::vector<double> fast = {100, 101, 102};
  const std::vector<double> slow = {10, 11, 12};
  for (const char* label : {"different", "noop", "unchecked", ""}) {
    EXPECT_EQ(Separate(Of(fast, 0, label), Of(slow)).evidence,
              Evidence::kOtherWork)
        << label;
  }
  EXPECT_EQ(
      Separate(Of(fast, 0, "different"), Of(slow, 0, "different")).evidence,
      Evidence::kOtherWork);
  EXPECT_EQ(Separate(Of(fast, 0, ""), Of(slow, 0, "")).evidence,
            Evidence::kSeparate);
}

// Each is compared with each, so a file of many names must not take hours.
TEST(StandingsTest, ATableOfThousandsHasNoRanks) {
  const std::vector<Contestant> many(1001, Of({100, 102, 104}));
  EXPECT_EQ(Standings(many)[0].rivals, 0);
  EXPECT_EQ(Standings(absl::MakeSpan(many).subspan(1))[0].rivals, 999);
}

TEST(StandingsTest, RanksWhatIsSeparateAndNamesTies) {
  const std::vector<Standing> standings = Standings(
      {Of({100, 102, 104, 101, 103, 102}), Of({99, 101, 104, 100, 103, 101}),
       Of({50, 51, 52, 50, 51, 52}), Of({900, 901, 902}, 0, "different"),
       Of({49})});
  EXPECT_EQ(standings[0].rank, 1);
  EXPECT_TRUE(standings[0].tied);
  EXPECT_FALSE(standings[0].wins);
  EXPECT_EQ(standings[0].rival, 1);
  EXPECT_EQ(standings[1].rank, 1);
  EXPECT_EQ(standings[2].rank, 3);
  EXPECT_EQ(standings[2].evidence, Evidence::kFewRuns);
  EXPECT_EQ(standings[3].rank, 0) << "different work";
  EXPECT_FALSE(standings[3].tied);
  EXPECT_EQ(standings[4].rank, 0) << "one run";
  EXPECT_TRUE(standings[4].tied);
}

// One that looks slowest is not the first because the others are unknown.
TEST(StandingsTest, NoRankBelowOneThatCannotBeJudged) {
  const Contestant slow = Of({10, 11, 12});
  const std::vector<Standing> standings =
      Standings({slow, Of({30}), Of({1, 1.1, 1.2})});
  EXPECT_EQ(standings[0].rank, 0);
  EXPECT_EQ(standings[1].rank, 0);
  EXPECT_EQ(standings[2].rank, 0);
  EXPECT_EQ(Standings({slow, Of({5})})[0].rank, 1);
}

TEST(StandingsTest, TheWinnerIsSeparateFromEveryRival) {
  const Contestant fast = Of({100, 102, 104});
  EXPECT_TRUE(Standings({Of({10, 11, 12}), fast, Of({5, 5.5, 6})})[1].wins);
  EXPECT_FALSE(Standings({Of({10}), fast, Of({5, 5.5, 6})})[1].wins);
  EXPECT_FALSE(Standings({fast})[0].wins) << "a contest needs two";
  EXPECT_EQ(Standings({fast})[0].rank, 0);
  EXPECT_FALSE(Standings({fast, Contestant()})[0].wins)
      << "the other never ran";
}

// Equal candidates: how often noise alone makes a winner.
TEST(StandingsTest, NoiseAloneRarelyMakesAWinner) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.1);
  for (const int runs : {2, 3, 5, 10}) {
    constexpr int kTables = 2000;
    int winners = 0;
    for (int table = 0; table < kTables; ++table) {
      std::vector<Contestant> all;
      for (int library = 0; library < 3; ++library) {
        std::vector<double> values;
        for (int i = 0; i < runs; ++i) values.push_back(noise(random));
        all.push_back(Of(values));
      }
      for (const Standing& one : Standings(all)) winners += one.wins;
    }
    EXPECT_LT(winners, kTables / 20) << runs << " runs";
  }
}

}  // namespace
}  // namespace feedrate
