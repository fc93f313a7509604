#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/testing_rows.h"
#include "lib/gate/verdict/verdicts.h"

namespace feedrate {
namespace {

std::vector<Verdict> Jobs(const std::string& letters) {
  std::vector<Verdict> jobs;
  for (const char letter : letters) {
    Verdict job;
    job.set_scope("job");
    job.set_verdict(letter == 'S'   ? "slower"
                    : letter == 'F' ? "faster"
                    : letter == '=' ? "same"
                    : letter == '?' ? "cannot_tell"
                                    : "invalid");
    if (letter == '!' || letter == 'b') job.add_codes(kCodeCrashed);
    if (letter == 'b' || letter == 'u') job.add_codes(kCodeBothSides);
    if (letter == 'u') job.add_codes(kCodeUnsupported);
    if (letter == 'x') job.add_codes(kCodeNoBaseline);
    jobs.push_back(job);
  }
  return jobs;
}

struct SuiteCase {
  std::string jobs;
  int exit_code;
  const char* verdict;
  double max_cannot_tell = 5;
  double min_compared = kMinComparedPercent;
};

class SuiteTest : public testing::TestWithParam<SuiteCase> {};

TEST_P(SuiteTest, ExitCode) {
  SuiteOptions options;
  options.max_cannot_tell_percent = GetParam().max_cannot_tell;
  options.min_compared_percent = GetParam().min_compared;
  const Verdict suite = SuiteVerdict(Jobs(GetParam().jobs), options);
  EXPECT_EQ(suite.exit_code(), GetParam().exit_code);
  EXPECT_EQ(suite.verdict(), GetParam().verdict);
  EXPECT_FALSE(suite.reason().empty());
  EXPECT_EQ(static_cast<int>(ExitCodeOfSuite(suite)), GetParam().exit_code);
}

INSTANTIATE_TEST_SUITE_P(
    All, SuiteTest,
    testing::Values(
        SuiteCase{"", 5, "invalid"}, SuiteCase{"=", 0, "same"},
        SuiteCase{"F", 0, "faster"}, SuiteCase{"S", 3, "slower"},
        SuiteCase{"?", 4, "cannot_tell"}, SuiteCase{"x", 5, "invalid"},
        SuiteCase{"!", 2, "invalid"}, SuiteCase{"xx", 5, "invalid"},
        // A crash is never a regression, whatever the other jobs are.
        SuiteCase{"!S", 2, "invalid"}, SuiteCase{"S!", 2, "invalid"},
        SuiteCase{"!=?", 2, "invalid"}, SuiteCase{"!x", 2, "invalid"},
        // Slower comes before everything but a crash.
        SuiteCase{"S=", 3, "slower"}, SuiteCase{"S?", 3, "slower"},
        SuiteCase{"SFx", 3, "slower"}, SuiteCase{"S???", 3, "slower"},
        // The limit is 5%: one of 20 is fine, one of 19 is not.
        SuiteCase{"?===================", 0, "same"},
        SuiteCase{"?==================", 4, "cannot_tell"},
        SuiteCase{"?=", 4, "cannot_tell"}, SuiteCase{"?=", 0, "same", 50},
        SuiteCase{"?\?=", 4, "cannot_tell", 50},
        SuiteCase{"?===================x", 0, "same"},
        // A single job may never be `cannot_tell`.
        SuiteCase{"?", 4, "cannot_tell", 100},
        SuiteCase{"?x", 4, "cannot_tell", 100}, SuiteCase{"??", 0, "same", 100},
        SuiteCase{"?=", 4, "cannot_tell", 0}, SuiteCase{"=F", 0, "faster"},
        SuiteCase{"=x", 0, "same"},
        // What was not compared does not pass: at least half must be.
        SuiteCase{"=xxxxxxxxx", 4, "cannot_tell"},
        SuiteCase{"F=xxx", 4, "cannot_tell"}, SuiteCase{"F==xxx", 0, "faster"},
        SuiteCase{"=xxxxxxxxx", 0, "same", 5, 10},
        SuiteCase{"==========x", 4, "cannot_tell", 5, 100},
        SuiteCase{"Sxxxxxxxxx", 3, "slower"},
        // A failure on both sides hides nothing, and is not compared.
        SuiteCase{"bS=", 3, "slower"}, SuiteCase{"b==", 0, "same"},
        SuiteCase{"bb=", 4, "cannot_tell"}, SuiteCase{"b", 5, "invalid"},
        SuiteCase{"b=", 4, "cannot_tell", 5, 100},
        // Neither side ever had these.
        SuiteCase{"uuuuuuu=", 0, "same", 5, 100}, SuiteCase{"uu", 5, "invalid"},
        SuiteCase{"F=================?==", 0, "faster"}));

TEST(SuiteCountsTest, CountsAndCodes) {
  const Verdict suite = SuiteVerdict(Jobs("S=F?x!"), {});
  EXPECT_EQ(suite.counts().slower(), 1);
  EXPECT_EQ(suite.counts().same(), 1);
  EXPECT_EQ(suite.counts().faster(), 1);
  EXPECT_EQ(suite.counts().cannot_tell(), 1);
  EXPECT_EQ(suite.counts().invalid(), 2);
  ASSERT_EQ(suite.codes_size(), 1);
  EXPECT_EQ(suite.codes(0), kCodeCrashed);
}

TEST(SuiteCountsTest, TheReasonNamesWhatWasNotCompared) {
  EXPECT_EQ(SuiteVerdict(Jobs("=="), {}).reason(), "nothing got slower");
  EXPECT_EQ(SuiteVerdict(Jobs("==x"), {}).reason(),
            "nothing got slower; 2 of 3 jobs were compared, 1 was not "
            "(no_baseline 1)");
  EXPECT_EQ(SuiteVerdict(Jobs("=xxb"), {}).reason(),
            "1 of 4 jobs was compared, 3 were not (crashed+both_sides 1, "
            "no_baseline 2); at least 50% must be (--min-compared)");
  EXPECT_EQ(SuiteVerdict(Jobs("=!S"), {}).reason(),
            "1 job did not run to the end on one side; that is no regression, "
            "but nothing else either; 1 job got worse; 2 of 3 jobs were "
            "compared, 1 was not (crashed 1)");
}

// JUnit, SARIF and GitHub fail where the exit code does, and only there.
TEST(SuiteCountsTest, AJobIsAnErrorOnlyIfTheSuiteFailsForIt) {
  const auto errors = [](const std::string& letters) {
    const std::vector<Verdict> jobs = Jobs(letters);
    const Verdict suite = SuiteVerdict(jobs, {});
    return std::count_if(jobs.begin(), jobs.end(), [&](const Verdict& job) {
      return IsError(job, suite);
    });
  };
  EXPECT_EQ(errors("==x"), 0);
  EXPECT_EQ(errors("=xx"), 2);
  EXPECT_EQ(errors("xx"), 2);
  EXPECT_EQ(errors("=!x"), 1);
  EXPECT_EQ(errors("==b"), 0);
  EXPECT_EQ(errors("uux"), 1);
}

TEST(SuiteCountsTest, TheSuiteHasWhatItsFirstJobHas) {
  std::vector<Verdict> jobs = Jobs("==");
  EXPECT_FALSE(SuiteVerdict(jobs, {}).has_level());
  jobs[0].set_level(0.25);
  jobs[0].set_mode("paired");
  jobs[0].set_machine_profile("m");
  const Verdict suite = SuiteVerdict(jobs, {});
  EXPECT_EQ(suite.level(), 0.25);
  EXPECT_EQ(suite.mode(), "paired");
  EXPECT_EQ(suite.machine_profile(), "m");
}

// An early stop on one side is not a crash.
TEST(SuiteCountsTest, OnlyInvalidJobsDied) {
  std::vector<Verdict> jobs = Jobs("=====================");
  jobs[0].set_verdict("cannot_tell");
  jobs[0].add_codes(kCodeEarlyStopped);
  EXPECT_EQ(SuiteVerdict(jobs, {}).exit_code(), 0);
}

}  // namespace
}  // namespace feedrate
