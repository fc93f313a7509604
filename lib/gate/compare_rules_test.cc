#include "lib/gate/compare_rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/gate/codes.h"
#include "lib/gate/tolerances.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

RuleOptions Rules() {
  RuleOptions options;
  options.tolerances = *ParseTolerances(
      "tolerances { metric: \"throughput\" better: HIGHER percent: 5 } "
      "tolerances { metric: \"x\" better: LOWER percent: 5 }",
      "f");
  return options;
}

Row MakeRow(const std::string& job, const std::string& status,
            double throughput) {
  Row row;
  row.set_job_id(job);
  row.set_mode("micro");
  row.set_library("l");
  row.set_transform(job);
  row.set_device("cpu");
  row.set_status(status);
  row.set_throughput(throughput);
  row.set_machine_profile("m");
  return row;
}

class CompareRulesTest : public testing::Test {
 protected:
  CompareRulesTest()
      : folder_(absl::StrCat(
            testing::TempDir(), "/",
            testing::UnitTest::GetInstance()->current_test_info()->name())),
        store_(folder_) {
    EXPECT_TRUE(MakeFolder(folder_).ok());
  }
  void WriteRows(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows) AppendRecord(row, &text);
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/m.rows.jsonl", text).ok());
  }
  Verdict Only(const std::vector<Row>& rows) {
    const auto verdicts = CompareRows(rows, store_, Rules());
    EXPECT_TRUE(verdicts.ok()) << verdicts.status();
    EXPECT_EQ(verdicts->size(), 1);
    return (*verdicts)[0];
  }
  const std::string folder_;
  const BaselineStore store_;
};

TEST_F(CompareRulesTest, MediansOfRunsAreCompared) {
  WriteRows({MakeRow("j", "ok", 100)});
  std::vector<Row> rows = {MakeRow("j", "ok", 99), MakeRow("j", "ok", 98),
                           MakeRow("j", "ok", 10)};
  for (int i = 0; i < 3; ++i) rows[i].set_run_index(i);
  EXPECT_EQ(Only(rows).verdict(), "same");
  EXPECT_EQ(Only(rows).pairs(), 3);
  rows[1].set_throughput(12);
  EXPECT_EQ(Only(rows).verdict(), "slower");
}

TEST_F(CompareRulesTest, StatusesComeFirst) {
  WriteRows({MakeRow("j", "ok", 100)});
  for (const char* status : {"crashed", "failed", "oom", "timeout"}) {
    const Verdict verdict = Only({MakeRow("j", status, 0)});
    EXPECT_EQ(verdict.verdict(), "invalid");
    EXPECT_EQ(verdict.codes(0), status);
  }
  EXPECT_EQ(Only({MakeRow("j", "unsupported", 0)}).verdict(), "invalid");
  EXPECT_EQ(Only({MakeRow("j", "early_stopped", 1)}).verdict(), "cannot_tell");
  WriteRows({MakeRow("j", "early_stopped", 1)});
  EXPECT_EQ(Only({MakeRow("j", "early_stopped", 1)}).verdict(), "invalid");
}

TEST_F(CompareRulesTest, JobsOnOneSideOnlyAreNamed) {
  WriteRows({MakeRow("old", "ok", 100)});
  const auto verdicts = CompareRows({MakeRow("new", "ok", 1)}, store_, Rules());
  ASSERT_EQ(verdicts->size(), 2);
  EXPECT_EQ((*verdicts)[0].codes(0), kCodeNoBaseline);
  EXPECT_EQ((*verdicts)[1].codes(0), kCodeNotRun);
}

TEST_F(CompareRulesTest, AnotherMachineIsNeverCompared) {
  WriteRows({MakeRow("j", "ok", 100)});
  Row row = MakeRow("j", "ok", 1);
  row.set_machine_profile("other");
  const Verdict verdict = Only({row});
  EXPECT_EQ(verdict.verdict(), "invalid");
  EXPECT_EQ(verdict.codes(0), kCodeNoBaseline);
  EXPECT_NE(verdict.reason().find("baselines of m"), std::string::npos);
}

TEST_F(CompareRulesTest, MetricsFiles) {
  MetricsFile current;
  current.machine_profile = "m";
  current.metrics = {{"x", 1.1}};
  EXPECT_EQ(CompareMetrics(current, "metrics", store_, Rules())->codes(0),
            kCodeNoBaseline);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/m.eval.json",
                                  "{\"machine_profile\":\"m\",\"x\":1}")
                  .ok());
  EXPECT_EQ(CompareMetrics(current, "eval", store_, Rules())->verdict(),
            "slower");
  ASSERT_TRUE(
      WriteFileAtomically(folder_ + "/m.eval.json", "{\"machine_prof").ok());
  EXPECT_FALSE(CompareMetrics(current, "eval", store_, Rules()).ok());
}

}  // namespace
}  // namespace feedrate
