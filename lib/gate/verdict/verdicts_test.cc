#include "lib/gate/verdict/verdicts.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "lib/base/xoshiro.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/testing_rows.h"
#include "lib/gate/verdict/metric_verdicts.h"

namespace feedrate {
namespace {

TEST(JobLabelTest, NamesWhatTellsJobsApart) {
  Row row;
  row.set_job_id("0123456789abcdef");
  EXPECT_EQ(JobLabel(row), "0123456789abcdef");
  row.set_mode("micro");
  row.set_library("opencv");
  row.set_transform("Resize");
  row.set_device("cpu");
  EXPECT_EQ(JobLabel(row), "opencv Resize");
  row.set_mode("pipeline");
  row.set_device("cuda");
  row.set_batch_size(64);
  row.set_workers(2);
  (*row.mutable_settings())["prefetch"] = "4";
  EXPECT_EQ(JobLabel(row),
            "pipeline opencv Resize cuda batch_size=64 workers=2 prefetch=4");
}

TEST(JobLabelTest, APlainCommandIsItsName) {
  Row row;
  row.set_mode("command");
  (*row.mutable_settings())["name"] = "sleep 1";
  EXPECT_EQ(JobLabel(row), "sleep 1");
}

TEST(GlobMatchesTest, Cases) {
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("opencv *", "opencv Resize"));
  EXPECT_TRUE(GlobMatches("*Re?ize*", "opencv Resize cuda"));
  EXPECT_TRUE(GlobMatches("a*b*c", "a--b-b--c"));
  EXPECT_FALSE(GlobMatches("opencv", "opencv Resize"));
  EXPECT_FALSE(GlobMatches("?", ""));
  EXPECT_FALSE(GlobMatches("a*b", "a-c"));
}

TEST(IsWantedJobTest, IdsAndWords) {
  EXPECT_TRUE(IsWantedJob("", "0123456789abcdef", "x"));
  EXPECT_TRUE(IsWantedJob("0123", "0123456789abcdef", "x"));
  EXPECT_FALSE(IsWantedJob("012", "0123456789abcdef", "x"));
  EXPECT_TRUE(IsWantedJob("x*", "0123456789abcdef", "xy"));
}

Row OkRow() {
  Row row;
  row.set_status("ok");
  row.set_elapsed_s(2);
  row.set_items(4);
  for (const double s : {1.0, 1.0, 1.0, 1.0, 9.0}) row.add_samples_s(s);
  return row;
}

TEST(RunTimeTest, Statistics) {
  EXPECT_NEAR(*RunLog(OkRow(), RunStatistic::kTypical), 0, 1e-12);
  EXPECT_NEAR(*RunLog(OkRow(), RunStatistic::kTotal), std::log(0.5), 1e-12);
  EXPECT_NEAR(*RunLog(OkRow(), RunStatistic::kP90), std::log(5.8), 1e-12);
}

TEST(RunTimeTest, FallsBackWithoutSamples) {
  Row row = OkRow();
  row.clear_samples_s();
  EXPECT_NEAR(*RunLog(row, RunStatistic::kTypical), std::log(0.5), 1e-12);
  row.clear_elapsed_s();
  EXPECT_FALSE(RunLog(row, RunStatistic::kTypical).has_value());
  row.set_throughput(10);
  EXPECT_NEAR(*RunLog(row, RunStatistic::kTotal), -std::log(10), 1e-12);
}

TEST(RunTimeTest, OnlyOkRowsAndTimesAboveZeroCount) {
  Row row = OkRow();
  row.set_status("crashed");
  EXPECT_FALSE(RunLog(row, RunStatistic::kTypical).has_value());
  row = OkRow();
  row.set_samples_s(0, 0);
  EXPECT_NEAR(*RunLog(row, RunStatistic::kTypical), std::log(0.5), 1e-12);
}

TEST(RunTimeTest, Names) {
  for (const std::string& name : RunStatisticNames()) {
    EXPECT_TRUE(ParseRunStatistic(name).has_value());
  }
  EXPECT_FALSE(ParseRunStatistic("mean").has_value());
}

// Pairs of which every `every`th, from the first on, shared the GPU for `busy`
// of the time; it made B slower by `harm`.
PairedRows SharedGpu(int every, double busy, double shift, double harm) {
  PairedRows rows(RunStatistic::kTypical);
  for (int i = 0; i < 30; ++i) {
    const bool is_shared = i % every == 0;
    Row a = PairRow("job", i, "a", std::exp(0.001 * (i % 5)), 0);
    Row b = PairRow("job", i, "b",
                    std::exp(shift + (is_shared ? harm : 0) + 0.001 * (i % 3)));
    for (Row* row : {&a, &b}) {
      row->mutable_gpu()->set_other_processes(is_shared ? 1 : 0);
      row->mutable_gpu()->set_other_busy(is_shared ? busy : 0);
    }
    rows.Add(a);
    rows.Add(b);
  }
  return rows;
}

TEST(SharedGpuTest, FewSharedPairsAreLeftOut) {
  Verdict verdict = JudgePairs(SharedGpu(3, 0.2, 0.05, 0.5), {})[0];
  EXPECT_EQ(verdict.verdict(), "slower");
  EXPECT_EQ(verdict.pairs(), 20);
  EXPECT_NEAR(verdict.effect().percent(), 5, 0.3);
  EXPECT_NE(
      verdict.reason().find("used the GPU in 10 of 30 pairs, up to 20% of "
                            "the time, and these are left out"),
      std::string::npos)
      << verdict.reason();
  verdict = JudgePairs(SharedGpu(3, 0.2, 0, 0.5), {})[0];
  EXPECT_EQ(verdict.verdict(), "same") << verdict.reason();
}

TEST(SharedGpuTest, ANeighborInAllPairsMakesNothingSlower) {
  const Verdict verdict = JudgePairs(SharedGpu(1, 0.2, 0, 0.1), {})[0];
  EXPECT_EQ(verdict.verdict(), "cannot_tell");
  EXPECT_EQ(verdict.codes(0), kCodeGpuShared);
  EXPECT_EQ(JudgePairs(SharedGpu(1, 0.2, 0, 0), {})[0].verdict(), "same");
  // Twice as long is more than a fifth of the time explains.
  EXPECT_EQ(JudgePairs(SharedGpu(1, 0.2, 0.7, 0.1), {})[0].verdict(), "slower");
}

TEST(PairedRowsTest, SortsRowsIntoPairs) {
  PairedRows rows(RunStatistic::kTypical);
  rows.Add(PairRow("x", 1, "b", 4, 1));
  rows.Add(PairRow("x", 0, "a", 1));
  rows.Add(PairRow("x", 0, "b", 2));
  rows.Add(PairRow("x", 1, "a", 1, 1));
  rows.Add(PairRow("x", 2, "a", 1, 2));
  rows.Add(PairRow("y", 0, "a", 1));
  rows.Add(Row());
  Row harness = PairRow("z", 0, "a", 1);
  harness.set_library("null");
  rows.Add(harness);
  ASSERT_EQ(rows.jobs().size(), 2);
  const PairedJob& job = rows.jobs()[0];
  ASSERT_EQ(job.Differences().size(), 2);
  EXPECT_NEAR(job.Differences()[0], std::log(2), 1e-12);
  EXPECT_NEAR(job.Differences()[1], std::log(4), 1e-12);
  EXPECT_EQ(job.LastStage(), 1);
  EXPECT_NEAR(job.TypicalSeconds(true), std::sqrt(8), 1e-9);
  EXPECT_TRUE(rows.jobs()[1].Differences().empty());
  EXPECT_EQ(rows.jobs()[1].TypicalSeconds(false), 0);
}

TEST(PairedRowsTest, SeveralRowsOfARunCountWithTheirMean) {
  PairedRows rows(RunStatistic::kTypical);
  rows.Add(PairRow("x", 0, "a", 1));
  rows.Add(PairRow("x", 0, "a", 4));
  rows.Add(PairRow("x", 0, "b", 2));
  EXPECT_NEAR(rows.jobs()[0].Differences()[0], 0, 1e-12);
}

TEST(PairedRowsTest, RemembersWhatWentWrong) {
  PairedRows rows(RunStatistic::kTypical);
  Row row = PairRow("x", 0, "b", 1);
  row.set_status("oom");
  row.set_reason("killed");
  rows.Add(row);
  row = PairRow("x", 0, "a", 1);
  row.clear_samples_s();
  rows.Add(row);
  EXPECT_EQ(rows.jobs()[0].b_problems.at("oom"), "killed");
  EXPECT_EQ(rows.jobs()[0].a_problems.count("no_time"), 1);
}

// A job with `pairs` pairs and B slower by `percent`, and its expected verdict.
struct PairsCase {
  int pairs;
  double percent;
  double noise;
  const char* verdict;
  const char* codes;
  double interest = 2;
  double floor = 0;
};

class JudgePairsTest : public testing::TestWithParam<PairsCase> {};

TEST_P(JudgePairsTest, Verdict) {
  const PairsCase& c = GetParam();
  PairedRows rows(RunStatistic::kTypical);
  Duel duel;
  for (const int look : {10, 20, 30}) duel.add_stages(look);
  rows.Add(duel);
  AddPairs("x", c.pairs, std::log1p(c.percent / 100), c.noise, 1, &rows);
  PairedOptions options;
  options.interest_percent = c.interest;
  if (c.floor > 0) options.floor_percent["x"] = c.floor;
  const std::vector<Verdict> verdicts = JudgePairs(rows, options);
  ASSERT_EQ(verdicts.size(), 1);
  EXPECT_EQ(verdicts[0].verdict(), c.verdict) << verdicts[0].reason();
  EXPECT_EQ(absl::StrJoin(verdicts[0].codes(), ","), c.codes);
  EXPECT_FALSE(verdicts[0].reason().empty());
  EXPECT_EQ(verdicts[0].pairs(), c.pairs);
  EXPECT_NEAR(verdicts[0].effect().percent(), c.percent,
              800 * c.noise / std::sqrt(c.pairs) + 1e-6);
  EXPECT_EQ(verdicts[0].level(), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(
    All, JudgePairsTest,
    testing::Values(
        // Little noise: ten pairs prove `same`, twenty prove `slower`.
        PairsCase{10, 0, 0.002, "same", ""},
        PairsCase{10, 1, 0.002, "same", ""},
        PairsCase{10, 5, 0.002, "cannot_tell", "few_pairs"},
        PairsCase{10, -5, 0.002, "cannot_tell", "few_pairs"},
        PairsCase{20, 5, 0.002, "slower", "time"},
        PairsCase{20, -5, 0.002, "faster", "time"},
        PairsCase{20, 50, 0.01, "slower", "time"},
        PairsCase{30, 3, 0.005, "slower", "time"},
        PairsCase{30, 2, 0.005, "slower", "time"},
        PairsCase{30, -3, 0.005, "faster", "time"},
        // A real change, but smaller than what is of interest.
        PairsCase{30, 0.6, 0.0005, "same", "small_change"},
        PairsCase{30, -0.6, 0.0005, "same", "small_change"},
        PairsCase{30, 3, 0.002, "same", "small_change", 10},
        PairsCase{30, 6, 0.002, "slower", "time", 10},
        PairsCase{30, 0.6, 0.0005, "slower", "time", 1},
        // Too noisy for the change of interest.
        PairsCase{30, 0, 0.05, "cannot_tell", "noisy"},
        PairsCase{30, 0, 0.05, "same", "", 20},
        PairsCase{30, 1, 0.1, "cannot_tell", "noisy"},
        PairsCase{1, 0, 0.002, "cannot_tell", "few_pairs"},
        PairsCase{2, 100, 0.002, "cannot_tell", "few_pairs"},
        // Changes below a stored floor are not judged.
        PairsCase{30, 3, 0.002, "cannot_tell", "below_floor", 2, 5},
        PairsCase{30, -3, 0.002, "cannot_tell", "below_floor", 2, 5},
        PairsCase{30, 6, 0.002, "slower", "time", 2, 5},
        PairsCase{30, 0, 0.01, "same", "", 2, 5},
        PairsCase{30, 0, 0.05, "same", "", 2, 10},
        PairsCase{30, 0, 0.05, "cannot_tell", "noisy", 2, 3},
        PairsCase{20, 100, 0.01, "cannot_tell", "below_floor", 2, 900},
        PairsCase{10, 100, 0.01, "cannot_tell", "below_floor", 2, 900},
        PairsCase{30, 3, 0.002, "slower", "time", 2, 1}));

struct ProblemCase {
  const char* a_status;
  const char* b_status;
  const char* verdict;
  const char* codes;
};

class ProblemTest : public testing::TestWithParam<ProblemCase> {};

// Two good pairs, then one whose sides ended with these statuses.
TEST_P(ProblemTest, IsToldBeforeAnyTime) {
  PairedRows rows(RunStatistic::kTypical);
  AddPairs("x", 2, 0.5, 0.001, 1, &rows);
  Row a = PairRow("x", 2, "a", 1);
  a.set_status(GetParam().a_status);
  Row b = PairRow("x", 2, "b", 1);
  b.set_status(GetParam().b_status);
  rows.Add(a);
  rows.Add(b);
  const Verdict verdict = JudgePairs(rows, {})[0];
  EXPECT_EQ(verdict.verdict(), GetParam().verdict);
  EXPECT_EQ(absl::StrJoin(verdict.codes(), ","), GetParam().codes);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProblemTest,
    testing::Values(
        ProblemCase{"ok", "crashed", "invalid", "crashed"},
        ProblemCase{"crashed", "ok", "invalid", "crashed"},
        ProblemCase{"ok", "failed", "invalid", "failed"},
        ProblemCase{"ok", "timeout", "invalid", "timeout"},
        ProblemCase{"ok", "oom", "invalid", "oom"},
        ProblemCase{"ok", "diverged", "invalid", "diverged"},
        ProblemCase{"crashed", "oom", "invalid", "both_sides,crashed,oom"},
        ProblemCase{"unsupported", "unsupported", "invalid",
                    "both_sides,unsupported"},
        ProblemCase{"unsupported", "crashed", "invalid", "crashed,unsupported"},
        ProblemCase{"ok", "unsupported", "cannot_tell", "unsupported"},
        ProblemCase{"early_stopped", "early_stopped", "invalid",
                    "both_sides,early_stopped"},
        ProblemCase{"ok", "early_stopped", "cannot_tell", "early_stopped"},
        ProblemCase{"early_stopped", "ok", "cannot_tell", "early_stopped"}));

TEST(JudgePairsMoreTest, OneSideAloneAndMixedMachinesAreNotCompared) {
  PairedRows rows(RunStatistic::kTypical);
  rows.Add(PairRow("alone", 0, "a", 1));
  rows.Add(PairRow("mixed", 0, "a", 1));
  Row other = PairRow("mixed", 0, "b", 1);
  other.set_machine_profile("n");
  rows.Add(other);
  rows.Add(PairRow("new", 0, "b", 1));
  const std::vector<Verdict> verdicts = JudgePairs(rows, {});
  EXPECT_EQ(verdicts[0].codes(0), kCodeOneSideOnly);
  EXPECT_EQ(verdicts[0].verdict(), "cannot_tell") << "B lost it";
  EXPECT_EQ(verdicts[2].codes(0), kCodeOneSideOnly);
  EXPECT_EQ(verdicts[2].verdict(), "invalid") << "it is new in B";
  EXPECT_EQ(verdicts[1].codes(0), kCodeMixedProfiles);
  EXPECT_EQ(verdicts[1].verdict(), "invalid");
}

TEST(JudgePairsMoreTest, TheLevelShrinksWithTheSuite) {
  PairedRows rows(RunStatistic::kTypical);
  for (int i = 0; i < 2000; ++i) {
    AddPairs(absl::StrCat("job", i), 1, 0, 0.001, i, &rows);
  }
  EXPECT_EQ(JudgedJobs(rows), 2000);
  EXPECT_DOUBLE_EQ(DesignOf(rows, {}).level, 5e-6);
}

TEST(JudgePairsMoreTest, StagesAreReadFromRowsWithoutARecord) {
  PairedRows rows(RunStatistic::kTypical);
  AddPairs("x", 20, 0, 0.01, 1, &rows);
  AddPairs("y", 10, 0, 0.01, 1, &rows);
  EXPECT_EQ(DesignOf(rows, {}).looks, (std::vector<int>{10, 20}));
  EXPECT_EQ(DesignOf(PairedRows(RunStatistic::kTypical), {}).looks,
            (std::vector<int>{30}));
}

TEST(JudgePairsMoreTest, SaysHowToRepeatIt) {
  PairedRows rows(RunStatistic::kTypical);
  Duel duel;
  duel.set_a("./old 'x'");
  duel.set_b("./new");
  duel.add_flags("--metrics=time,cpu");
  duel.add_flags("--relink=./link {seed}");
  rows.Add(duel);
  AddPairs("x", 10, 0, 0.001, 1, &rows);
  PairedOptions own;
  own.are_own_records = true;
  EXPECT_EQ(JudgePairs(rows, {})[0].command(),
            "duel --a=OLD --b=NEW --only=x | compare_baseline --paired")
      << "anybody may have written the record";
  EXPECT_EQ(JudgePairs(rows, own)[0].command(),
            "duel --a='./old '\\''x'\\''' --b=./new --only=x "
            "--metrics=time,cpu '--relink=./link {seed}' | "
            "compare_baseline --paired");
}

// One letter per job: S slower, F faster, = same, ? cannot tell, ! crashed, b
// crashed on both sides, u unsupported on both sides, x invalid for another
// reason.
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

TEST(JudgePairsMoreTest, MoreMemoryFailsAJob) {
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

TEST(JudgePairsMoreTest, LessMemoryIsShownAndPasses) {
  const Verdict verdict = JudgeOne(0.9, 0.01, 30);
  EXPECT_EQ(verdict.verdict(), "same");
  EXPECT_TRUE(verdict.codes().empty());
  EXPECT_EQ(verdict.metrics(0).verdict(), "better");
}

TEST(JudgePairsMoreTest, TheSameMemoryChangesNothing) {
  const Verdict verdict = JudgeOne(1, 0.01, 10);
  EXPECT_EQ(verdict.verdict(), "same");
  EXPECT_EQ(verdict.metrics(0).verdict(), "same");
  EXPECT_EQ(JudgeOne(1, 0.01, 10, "time").metrics_size(), 0);
}

TEST(JudgePairsMoreTest, MetricsAloneCanDecide) {
  EXPECT_EQ(JudgeOne(1.1, 0, 10, "memory").verdict(), "slower");
  EXPECT_EQ(JudgeOne(0.9, 0, 10, "memory").verdict(), "faster");
  EXPECT_EQ(JudgeOne(1, 0, 10, "memory").verdict(), "same");
  const Verdict open = JudgeOne(1.1, 0.01, 10, "memory");
  EXPECT_EQ(open.verdict(), "cannot_tell");
  EXPECT_EQ(open.reason().substr(0, 8), "memory: ");
  EXPECT_NE(open.reason().find(" pairs"), std::string::npos) << open.reason();
  EXPECT_EQ(JudgeOne(1.1, 0, 10, "rss_peak_bytes:5:higher").verdict(),
            "faster");
  const Verdict none = JudgeOne(1, 0, 10, "energy");
  EXPECT_EQ(none.verdict(), "cannot_tell");
  EXPECT_EQ(none.codes(0), "missing");
}

TEST(JudgePairsMoreTest, AnUndecidedMetricGetsMorePairs) {
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
