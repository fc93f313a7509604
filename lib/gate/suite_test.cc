#include "lib/gate/suite.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/codes.h"

namespace feedrate {
namespace {

// One letter a job: S slower, F faster, = same, ? cannot tell, ! crashed, x
// invalid for another reason.
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
    if (letter == '!') job.add_codes(kCodeCrashed);
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
};

class SuiteTest : public testing::TestWithParam<SuiteCase> {};

TEST_P(SuiteTest, ExitCode) {
  SuiteOptions options;
  options.max_cannot_tell_percent = GetParam().max_cannot_tell;
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
        // A crash is never a regression, whatever else there is.
        SuiteCase{"!S", 2, "invalid"}, SuiteCase{"S!", 2, "invalid"},
        SuiteCase{"!=?", 2, "invalid"}, SuiteCase{"!x", 2, "invalid"},
        // Slower before all but a crash.
        SuiteCase{"S=", 3, "slower"}, SuiteCase{"S?", 3, "slower"},
        SuiteCase{"SFx", 3, "slower"}, SuiteCase{"S???", 3, "slower"},
        // Five percent: one of 20 is fine, one of 19 is not.
        SuiteCase{"?===================", 0, "same"},
        SuiteCase{"?==================", 4, "cannot_tell"},
        SuiteCase{"?=", 4, "cannot_tell"}, SuiteCase{"?=", 0, "same", 50},
        SuiteCase{"??=", 4, "cannot_tell", 50},
        SuiteCase{"?===================x", 0, "same"},
        // A single job may never be undecided.
        SuiteCase{"?", 4, "cannot_tell", 100},
        SuiteCase{"?x", 4, "cannot_tell", 100}, SuiteCase{"??", 0, "same", 100},
        SuiteCase{"?=", 4, "cannot_tell", 0}, SuiteCase{"=F", 0, "faster"},
        SuiteCase{"=x", 0, "same"},
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

// One early stop on one side is nothing that crashed.
TEST(SuiteCountsTest, OnlyInvalidJobsDied) {
  std::vector<Verdict> jobs = Jobs("=====================");
  jobs[0].set_verdict("cannot_tell");
  jobs[0].add_codes(kCodeEarlyStopped);
  EXPECT_EQ(SuiteVerdict(jobs, {}).exit_code(), 0);
}

}  // namespace
}  // namespace feedrate
