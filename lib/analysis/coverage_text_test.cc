#include "lib/analysis/coverage_text.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Coverage Example() {
  Coverage coverage;
  coverage.set_coverage("full-paper");
  coverage.set_verdict("incomplete");
  coverage.set_jobs(5);
  coverage.set_jobs_complete(2);
  coverage.set_runs(15);
  coverage.set_runs_complete(6);
  coverage.set_rows(1);
  coverage.set_files(1);
  coverage.set_unplanned_rows(4);
  CoverageGroup& group = *coverage.add_groups();
  group.set_scenario("image-rgb");
  group.set_library("kornia");
  group.set_jobs(5);
  group.set_complete(2);
  group.set_missing(3);
  CoverageCount& missing = *coverage.add_counts();
  missing.set_code("missing");
  missing.set_severity("error");
  missing.set_findings(3);
  CoverageCount& few = *coverage.add_counts();
  few.set_code("few_runs");
  few.set_severity("warning");
  few.set_findings(1);
  for (int i = 0; i < 3; ++i) {
    CoverageFinding& finding = *coverage.add_findings();
    finding.set_subject(absl::StrCat("job", i));
    finding.add_run_indexes(0);
    finding.add_run_indexes(2);
    finding.set_what("no row");
    finding.set_remedy("measure it");
  }
  CoverageFinding& finding = *coverage.add_findings();
  finding.set_place("rows.jsonl:7");
  finding.set_what("only 2 runs");
  finding.set_remedy("top up");
  return coverage;
}

TEST(CoverageSummaryTest, IsOneLine) {
  EXPECT_EQ(CoverageSummary(Example()),
            "full-paper: incomplete: 2 of 5 jobs, 6 of 15 runs; 1 row in 1 "
            "file, 4 not owed; 3 errors, 1 warning");
}

TEST(CoverageSummaryTest, SaysWhenThereAreNoRows) {
  Coverage coverage;
  coverage.set_coverage("x");
  coverage.set_verdict("nothing");
  EXPECT_THAT(CoverageSummary(coverage), HasSubstr("x: no rows: 0 of 0 jobs"));
}

TEST(CoverageTextTest, FindingsStandUnderTheirKind) {
  const std::string text = CoverageText(Example(), 0);
  EXPECT_THAT(text, HasSubstr("error: missing (3): measure it\n"
                              "  job0 run 0,2: no row\n"
                              "  job1 run 0,2: no row\n"
                              "  job2 run 0,2: no row\n"));
  EXPECT_THAT(text, HasSubstr("warning: few_runs (1): top up\n"
                              "  rows.jsonl:7: only 2 runs\n"));
}

TEST(CoverageTextTest, LimitCutsEachKindAndSaysSo) {
  const std::string text = CoverageText(Example(), 2);
  EXPECT_THAT(text, HasSubstr("  and 1 more; --limit=0 shows all\n"));
  EXPECT_THAT(text, Not(HasSubstr("job2")));
  // The next kind starts at its own first finding all the same.
  EXPECT_THAT(text, HasSubstr("only 2 runs"));
}

TEST(CoverageTextTest, ZeroesOfTheTableAreEmpty) {
  const std::string text = CoverageText(Example(), 1);
  const size_t at = text.find("kornia");
  ASSERT_NE(at, std::string::npos);
  const std::string line = text.substr(at, text.find('\n', at) - at);
  EXPECT_THAT(line, HasSubstr("5"));
  EXPECT_THAT(line, HasSubstr("3"));
  EXPECT_THAT(line, Not(HasSubstr("0")));
}

}  // namespace
}  // namespace feedrate
