#include "tools/collect_env/check_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Check kFine = {"swap", CheckStatus::kOk, "none", "", ""};
const Check kNoted = {"smt", CheckStatus::kNote, "2 threads a core",
                      "they share", "use one"};
const Check kUsual = {"swap", CheckStatus::kUsual, "8 GiB", "it varies",
                      "swapoff"};
const Check kBad = {"turbo", CheckStatus::kWarn, "on", "it varies",
                    "switch it off"};
const Check kUnread = {"aslr", CheckStatus::kUnknown, "not readable",
                       "it varies", "mount /proc"};

TEST(CheckReportTest, TableThenFindingsThenSummary) {
  const std::string report = CheckReport({kFine, kNoted, kBad});
  EXPECT_THAT(report, StartsWith("check  status  observed\n"));
  const size_t first_row = report.find("swap");
  ASSERT_NE(first_row, std::string::npos);
  EXPECT_EQ(report.substr(first_row),
            "swap   ok      none\n"
            "smt    note    2 threads a core\n"
            "turbo  warn    on\n"
            "\n"
            "warn: turbo: it varies\n"
            "  switch it off\n"
            "\n"
            "note: smt: they share\n"
            "  use one\n"
            "\n"
            "Timings are unreliable here: 1 of 3 checks warn.\n");
}

TEST(CheckReportTest, Summaries) {
  EXPECT_THAT(CheckReport({kFine, kUnread}),
              EndsWith("Cannot tell: 1 of 2 checks could not be made; "
                       "--ignore=aslr accepts that.\n"));
  EXPECT_THAT(CheckReport({kFine, kNoted}),
              EndsWith("Nothing found that makes timings unreliable here (2 "
                       "checks).\n"));
}

TEST(CheckReportTest, ExitCodes) {
  EXPECT_EQ(CheckExitCode({kFine, kNoted, kUsual}), ExitCode::kDone);
  EXPECT_EQ(CheckExitCode({kFine, kUnread}), ExitCode::kCannotTell);
  EXPECT_EQ(CheckExitCode({kUnread, kBad}), ExitCode::kCheckSaidNo);
}

TEST(CheckReportTest, IgnoredChecksDoNotCount) {
  std::vector<Check> checks = {kFine, kBad, kUnread};
  ASSERT_TRUE(IgnoreChecks({"turbo", "aslr"}, &checks).ok());
  EXPECT_EQ(checks.size(), 1);
  EXPECT_EQ(CheckExitCode(checks), ExitCode::kDone);
  EXPECT_THAT(std::string(IgnoreChecks({"swop"}, &checks).message()),
              AllOf(HasSubstr("--ignore"), HasSubstr("did you mean \"swap\"")));
}

}  // namespace
}  // namespace feedrate
