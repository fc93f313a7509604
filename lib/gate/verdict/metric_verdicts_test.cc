#include "lib/gate/verdict/metric_verdicts.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/testing_rows.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/gate/xoshiro.h"

namespace feedrate {
namespace {

TEST(LevelsForTest, AddUpToTheLevelOfTheSuite) {
  for (const int64_t jobs : {1, 20, 500, 5000}) {
    for (const int64_t metrics : {0, 1, 2, 9}) {
      const JointLevels levels = LevelsFor(jobs, metrics, true);
      EXPECT_LE(jobs * (levels.time + metrics * levels.metric), 0.01 + 1e-12);
      EXPECT_LE(levels.time, 2e-5);
      const JointLevels without = LevelsFor(jobs, metrics, false);
      EXPECT_LE(jobs * metrics * without.metric, 0.01 + 1e-12);
    }
  }
  EXPECT_DOUBLE_EQ(LevelsFor(500, 0, true).time, 2e-5);
  EXPECT_DOUBLE_EQ(LevelsFor(500, 2, true).time, 1.92e-5);
  EXPECT_NEAR(LevelsFor(500, 2, true).metric, 4e-7, 1e-12);
  // Small suites have enough for everything.
  EXPECT_DOUBLE_EQ(LevelsFor(20, 9, true).time, 2e-5);
  EXPECT_DOUBLE_EQ(LevelsFor(20, 9, true).metric, 2e-5);
  // A slow job of a large suite still stops at 20 pairs.
  const PairedDesign design{{10, 20, 30}, LevelsFor(500, 9, true).time, 2};
  EXPECT_GE(ShareOfLook(design, 1), SmallestSignFlipPValue(20));
}

const PairedDesign kDesign{{10, 20, 30}, 2e-5, 5};

std::vector<MetricPair> Constants(double a, double b, int pairs) {
  std::vector<MetricPair> values;
  for (int i = 0; i < pairs; ++i) values.push_back({a, b, i % 2 == 0});
  return values;
}

PairedVerdict VerdictOn(const std::vector<MetricPair>& pairs, int look = 0) {
  return LookAtMetric(pairs, 1, kDesign, look).look.verdict;
}

TEST(LookAtMetricTest, ADifferenceOfConstantsIsCertain) {
  EXPECT_EQ(VerdictOn(Constants(100, 110, 10)), PairedVerdict::kSlower);
  EXPECT_EQ(VerdictOn(Constants(110, 100, 10)), PairedVerdict::kFaster);
  EXPECT_EQ(VerdictOn(Constants(100, 100, 10)), PairedVerdict::kSame);
  // Real, but not of interest.
  const MetricLook small =
      LookAtMetric(Constants(1000, 1010, 10), 1, kDesign, 0);
  EXPECT_EQ(small.look.verdict, PairedVerdict::kSame);
  EXPECT_TRUE(small.look.is_small_change);
  EXPECT_TRUE(small.constant);
  // Two values at random look like this too often.
  EXPECT_EQ(VerdictOn(Constants(100, 110, 5)), PairedVerdict::kCannotTell);
  // At the level of a large suite ten pairs are too few, twenty are not.
  const PairedDesign strict{{10, 20, 30}, 3e-6, 5};
  EXPECT_EQ(LookAtMetric(Constants(100, 110, 10), 1, strict, 0).look.verdict,
            PairedVerdict::kCannotTell);
  EXPECT_EQ(LookAtMetric(Constants(100, 110, 20), 1, strict, 1).look.verdict,
            PairedVerdict::kSlower);
}

TEST(LookAtMetricTest, TheOrderAloneProvesNothing) {
  // The second run always reads more, and B happened to be second each time.
  std::vector<MetricPair> pairs = Constants(100, 110, 10);
  for (MetricPair& pair : pairs) pair.a_first = true;
  EXPECT_EQ(VerdictOn(pairs), PairedVerdict::kCannotTell);
}

TEST(LookAtMetricTest, ValuesThatVaryNeedTheTest) {
  std::vector<MetricPair> pairs = Constants(100, 110, 30);
  pairs[3].a = 101;
  EXPECT_FALSE(LookAtMetric(pairs, 1, kDesign, 2).constant);
  EXPECT_EQ(VerdictOn(pairs, 2), PairedVerdict::kSlower);
  // Ten pairs cannot prove it then.
  pairs.resize(10);
  EXPECT_EQ(VerdictOn(pairs), PairedVerdict::kCannotTell);
}

TEST(LookAtMetricTest, TiesDoNotHideAChange) {
  // B needs a fifth more in 40% of the runs; the others are equal.
  std::vector<MetricPair> pairs = Constants(100, 100, 60);
  for (int i = 0; i < 24; ++i) pairs[2 * i].b = 120;
  const PairedDesign design{{60}, 2e-5, 5};
  const PairedLook look = LookAtMetric(pairs, 1, design, 0).look;
  EXPECT_LT(look.p_value, 1e-4);
}

TEST(LookAtMetricTest, SmallValuesCountAsTheLeast) {
  const std::vector<MetricPair> pairs = Constants(0, 900, 10);
  EXPECT_EQ(LookAtMetric(pairs, 1000, kDesign, 0).look.verdict,
            PairedVerdict::kSame);
  EXPECT_EQ(VerdictOn(pairs), PairedVerdict::kSlower);
}

// Pairs of a job with equal times; B's memory is `factor` times A's.
void AddJob(const std::string& job, double factor, double noise, int pairs,
            PairedRows* rows) {
  Xoshiro256 random(5);
  for (int i = 0; i < pairs; ++i) {
    const int stage = i < 10 ? 0 : i < 20 ? 1 : 2;
    for (const std::string side : {"a", "b"}) {
      Row row = PairRow(job, i, side, std::exp(0.001 * random.Normal()), stage);
      row.mutable_pair()->set_position((side == "b") == (i % 3 != 0) ? 1 : 0);
      row.set_rss_peak_bytes(
          static_cast<int64_t>(1e8 * (side == "b" ? factor : 1) *
                               std::exp(noise * random.Normal())));
      rows->Add(row);
    }
  }
}

Verdict JudgeOne(double factor, double noise, int pairs,
                 const std::string& metrics = "time,memory") {
  PairedRows rows(RunStatistic::kTypical, *ParseMetricChoice(metrics));
  AddJob("x", factor, noise, pairs, &rows);
  return JudgePairs(rows, {})[0];
}

TEST(JudgePairsTest, MoreMemoryFailsAJob) {
  const Verdict verdict = JudgeOne(1.1, 0.01, 30);
  EXPECT_EQ(verdict.verdict(), "slower");
  ASSERT_EQ(verdict.codes_size(), 1);
  EXPECT_EQ(verdict.codes(0), "memory");
  ASSERT_EQ(verdict.metrics_size(), 1);
  EXPECT_EQ(verdict.metrics(0).verdict(), "worse");
  // That of time and of memory.
  EXPECT_DOUBLE_EQ(verdict.level(), 4e-5);
  EXPECT_NEAR(verdict.metrics(0).effect().percent(), 10, 1);
  EXPECT_NE(verdict.reason().find("memory worse"), std::string::npos);
}

TEST(JudgePairsTest, LessMemoryIsShownAndPasses) {
  const Verdict verdict = JudgeOne(0.9, 0.01, 30);
  EXPECT_EQ(verdict.verdict(), "same");
  EXPECT_TRUE(verdict.codes().empty());
  EXPECT_EQ(verdict.metrics(0).verdict(), "better");
}

TEST(JudgePairsTest, TheSameMemoryChangesNothing) {
  const Verdict verdict = JudgeOne(1, 0.01, 10);
  EXPECT_EQ(verdict.verdict(), "same");
  EXPECT_EQ(verdict.metrics(0).verdict(), "same");
  EXPECT_EQ(JudgeOne(1, 0.01, 10, "time").metrics_size(), 0);
}

TEST(JudgePairsTest, MetricsAloneCanDecide) {
  EXPECT_EQ(JudgeOne(1.1, 0, 10, "memory").verdict(), "slower");
  EXPECT_EQ(JudgeOne(0.9, 0, 10, "memory").verdict(), "faster");
  EXPECT_EQ(JudgeOne(1, 0, 10, "memory").verdict(), "same");
  EXPECT_EQ(JudgeOne(1.1, 0.01, 10, "memory").verdict(), "cannot_tell");
  EXPECT_EQ(JudgeOne(1.1, 0, 10, "rss_peak_bytes:5:higher").verdict(),
            "faster");
  const Verdict none = JudgeOne(1, 0, 10, "energy");
  EXPECT_EQ(none.verdict(), "cannot_tell");
  EXPECT_EQ(none.codes(0), "missing");
}

TEST(JudgePairsTest, AnUndecidedMetricGetsMorePairs) {
  PairedRows rows(RunStatistic::kTypical);
  AddJob("same", 1, 0.001, 10, &rows);
  AddJob("more", 1.1, 0.001, 10, &rows);
  const PairedDesign design = DesignOf(rows, {});
  const PairedDesign metric_design = MetricDesignOf(rows, design);
  EXPECT_FALSE(
      IsUndecided(rows.jobs()[0], rows.choice(), design, metric_design, 0));
  EXPECT_TRUE(
      IsUndecided(rows.jobs()[1], rows.choice(), design, metric_design, 0));
}

}  // namespace
}  // namespace feedrate
