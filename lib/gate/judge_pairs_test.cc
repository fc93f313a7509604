#include "lib/gate/judge_pairs.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "lib/gate/codes.h"
#include "lib/gate/testing_rows.h"

namespace feedrate {
namespace {

// A job with `pairs` pairs, B slower by `percent`, and what is said of it.
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
        // Quiet: ten pairs clear, twenty convict.
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
        // Real, but of no interest.
        PairsCase{30, 0.6, 0.0005, "same", "small_change"},
        PairsCase{30, -0.6, 0.0005, "same", "small_change"},
        PairsCase{30, 3, 0.002, "same", "small_change", 10},
        PairsCase{30, 6, 0.002, "slower", "time", 10},
        PairsCase{30, 0.6, 0.0005, "slower", "time", 1},
        // Too noisy for what was asked.
        PairsCase{30, 0, 0.05, "cannot_tell", "noisy"},
        PairsCase{30, 0, 0.05, "same", "", 20},
        PairsCase{30, 1, 0.1, "cannot_tell", "noisy"},
        PairsCase{1, 0, 0.002, "cannot_tell", "few_pairs"},
        PairsCase{2, 100, 0.002, "cannot_tell", "few_pairs"},
        // A stored floor: nothing below it is judged.
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

// Two good pairs, then one whose sides ended like that.
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
        ProblemCase{"crashed", "oom", "invalid", "crashed,oom"},
        ProblemCase{"unsupported", "unsupported", "invalid", "unsupported"},
        ProblemCase{"ok", "unsupported", "cannot_tell", "unsupported"},
        ProblemCase{"early_stopped", "early_stopped", "invalid",
                    "early_stopped"},
        ProblemCase{"ok", "early_stopped", "cannot_tell", "early_stopped"},
        ProblemCase{"early_stopped", "ok", "cannot_tell", "early_stopped"}));

TEST(JudgePairsMoreTest, OneSideAloneAndMixedMachinesAreInvalid) {
  PairedRows rows(RunStatistic::kTypical);
  rows.Add(PairRow("alone", 0, "a", 1));
  rows.Add(PairRow("mixed", 0, "a", 1));
  Row other = PairRow("mixed", 0, "b", 1);
  other.set_machine_profile("n");
  rows.Add(other);
  const std::vector<Verdict> verdicts = JudgePairs(rows, {});
  EXPECT_EQ(verdicts[0].codes(0), kCodeOneSideOnly);
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
  rows.Add(duel);
  AddPairs("x", 10, 0, 0.001, 1, &rows);
  EXPECT_EQ(JudgePairs(rows, {})[0].command(),
            "duel --a='./old '\\''x'\\''' --b='./new' --only=x | "
            "compare_baseline --paired");
}

}  // namespace
}  // namespace feedrate
