#include "lib/gate/verdict_github.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/suite.h"

namespace feedrate {
namespace {

TEST(VerdictGithubTest, CommandsAreEscaped) {
  std::vector<Verdict> jobs(2);
  jobs[0].set_job("a: b, c");
  jobs[0].set_verdict("slower");
  jobs[0].set_reason("5% more\n::error::forged");
  jobs[1].set_job("same");
  jobs[1].set_verdict("same");
  EXPECT_EQ(VerdictGithub(jobs, SuiteVerdict(jobs, {})),
            "::error title=a%3A b%2C c slower::5%25 more%0A::error::forged\n"
            "::error title=feedrate::1 slower, 1 same: 1 job got worse\n");
}

TEST(VerdictGithubTest, TheSuiteAloneWhenAllIsWell) {
  std::vector<Verdict> jobs(1);
  jobs[0].set_verdict("same");
  EXPECT_EQ(VerdictGithub(jobs, SuiteVerdict(jobs, {})),
            "::notice title=feedrate::1 same: nothing got slower\n");
}

}  // namespace
}  // namespace feedrate
