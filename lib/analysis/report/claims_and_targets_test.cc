#include "lib/analysis/report/claims_and_targets.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/expression.h"
#include "lib/analysis/testing/rows.h"
#include "lib/base/files.h"
#include "lib/config/targets.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<Row> Rows() {
  std::vector<Row> rows = {
      MakeRow("a", "Blur", 100, 0), MakeRow("a", "Blur", 120, 1),
      MakeRow("a", "Blur", 110, 2), MakeRow("b", "Blur", 55),
      MakeRow("a", "Flip", 800),    MakeRow("b", "Flip", 100),
      MakeRow("a", "Only", 7)};
  rows.push_back(MakeRow("b", "Only", 999));
  rows.back().set_status("failed");
  return rows;
}

double ValueOf(const std::string& expression) {
  const auto value = Evaluate(expression, Rows());
  EXPECT_TRUE(value.ok()) << expression << ": " << value.status();
  return value.value_or(-12345);
}

TEST(ExpressionTest, TakesStatisticsOverRows) {
  EXPECT_DOUBLE_EQ(
      ValueOf("median(throughput, library==\"a\", transform==\"Blur\")"), 110);
  EXPECT_DOUBLE_EQ(ValueOf("max(throughput)"), 800);
  EXPECT_DOUBLE_EQ(ValueOf("min(throughput)"), 7);
  EXPECT_DOUBLE_EQ(ValueOf("sum(throughput, transform == \"Flip\")"), 900);
  EXPECT_DOUBLE_EQ(ValueOf("mean(throughput, transform == \"Flip\")"), 450);
  EXPECT_DOUBLE_EQ(ValueOf("distinct(transform)"), 3);
}

TEST(ExpressionTest, CountsOnlyRowsThatAreOkUnlessToldOtherwise) {
  EXPECT_DOUBLE_EQ(ValueOf("count()"), 7);
  EXPECT_DOUBLE_EQ(ValueOf("count(status == \"failed\")"), 1);
  EXPECT_DOUBLE_EQ(ValueOf("count(status != \"\")"), 8);
  EXPECT_DOUBLE_EQ(ValueOf("share(library == \"b\")"), 100.0 * 2 / 7);
}

TEST(ExpressionTest, RatiosPairCellsAndTakeTheGeometricMean) {
  EXPECT_DOUBLE_EQ(ValueOf("ratio(throughput, library==\"a\", library==\"b\", "
                           "transform==\"Blur\")"),
                   2);
  // The ratios are 2 and 8; `Only` has no partner.
  EXPECT_NEAR(ValueOf("ratio(throughput, library==\"a\", library==\"b\")"), 4,
              1e-12);
  EXPECT_NEAR(ValueOf("percent(throughput, library==\"a\", library==\"b\")"),
              300, 1e-9);
}

TEST(ExpressionTest, NeverPairsDifferentMachines) {
  std::vector<Row> rows = {MakeRow("a", "Blur", 100), MakeRow("b", "Blur", 50)};
  rows[1].set_machine_profile("other");
  EXPECT_TRUE(absl::IsNotFound(
      Evaluate("ratio(throughput, library==\"a\", library==\"b\")", rows)
          .status()));
}

TEST(ExpressionTest, PairsAlongASetting) {
  std::vector<Row> rows = {MakeRow("a", "", 300), MakeRow("a", "", 100)};
  (*rows[0].mutable_settings())["precision"] = "amp";
  (*rows[1].mutable_settings())["precision"] = "fp32";
  const auto value = Evaluate(
      "ratio(throughput, settings.precision==\"amp\", "
      "settings.precision==\"fp32\")",
      rows);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_DOUBLE_EQ(*value, 3);
}

TEST(ExpressionTest, ComputesModelUtilisation) {
  EXPECT_DOUBLE_EQ(
      ValueOf("mfu(2e9, 1e12, transform==\"Flip\", library==\"b\")"), 20);
}

TEST(ExpressionTest, Calculates) {
  EXPECT_DOUBLE_EQ(ValueOf("2 + 3 * (4 - 1) / -2 "), -2.5);
  EXPECT_DOUBLE_EQ(ValueOf("1e3-1"), 999);
  EXPECT_DOUBLE_EQ(ValueOf("count() / 2"), 3.5);
}

TEST(ExpressionTest, NamesWhatIsWrong) {
  for (const char* bad :
       {"", "1 +", "(1", "nosuch(1)", "median()", "count(", "1 1", "2..3",
        "median(throughput, )", "median(throughput, library=)", "median",
        "mfu(a, b)", "ratio(throughput, library==\"a\")"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Evaluate(bad, Rows()).status()))
        << bad << ": " << Evaluate(bad, Rows()).status();
  }
  EXPECT_THAT(std::string(Evaluate("1 + nosuch()", Rows()).status().message()),
              HasSubstr("column 5"));
}

TEST(ExpressionTest, SaysWhenRowsHaveNothing) {
  for (const char* empty :
       {"median(throughput, library==\"z\")", "median(train.gpu_use)",
        "median(of_limit)", "1 / count(library==\"z\")"}) {
    EXPECT_TRUE(absl::IsNotFound(Evaluate(empty, Rows()).status()))
        << empty << ": " << Evaluate(empty, Rows()).status();
  }
}

TEST(ExpressionTest, EndlessBracketsAreAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      Evaluate(std::string(100000, '('), Rows()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Evaluate(std::string(100000, '-'), Rows()).status()));
}

const std::vector<Row>& TwoRows() {
  static const auto& rows = *new std::vector<Row>{MakeRow("a", "Blur", 1234.4),
                                                  MakeRow("b", "Blur", 500)};
  return rows;
}

// "+" for each claim of a text that holds, "-" for each that does not.
std::string Marks(const std::string& text) {
  const auto claims = FindClaims(text, "f.md");
  EXPECT_TRUE(claims.ok()) << claims.status();
  if (!claims.ok()) return "?";
  const auto results = CheckClaims(*claims, "f.md", TwoRows());
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return "?";
  std::string marks;
  for (const ClaimResult& result : *results) marks += result.holds ? "+" : "-";
  return marks;
}

TEST(ClaimsTest, HoldsTheTextToItsDigits) {
  const std::string max = " <!-- rows: max(throughput) -->";
  EXPECT_EQ(Marks("1234" + max), "+");
  EXPECT_EQ(Marks("about 1,234 images" + max), "+");
  EXPECT_EQ(Marks("1234.4" + max), "+");
  EXPECT_EQ(Marks("1234.5" + max), "-");
  EXPECT_EQ(Marks("1235" + max), "-");
  EXPECT_EQ(Marks("1.2k" + max), "+");
  EXPECT_EQ(Marks("1.3k" + max), "-");
  EXPECT_EQ(Marks("**1234** img/s" + max), "+");
}

TEST(ClaimsTest, KnowsRatiosPercentagesAndSigns) {
  EXPECT_EQ(Marks("2.5x <!-- rows: ratio(throughput, library==\"a\", "
                  "library==\"b\") -->"),
            "+");
  EXPECT_EQ(Marks("up by 147% <!-- rows: percent(throughput, library==\"a\", "
                  "library==\"b\") -->"),
            "+");
  const std::string loss =
      " <!-- rows: percent(throughput, library==\"b\", library==\"a\") -->";
  EXPECT_EQ(Marks("-59%" + loss), "+");
  EXPECT_EQ(Marks("\u221259%" + loss), "+");
  EXPECT_EQ(Marks("59%" + loss), "-");
}

TEST(ClaimsTest, EachReferenceHasItsOwnNumber) {
  EXPECT_EQ(Marks("| 2 <!-- rows: count() --> | 3 <!-- rows: count() --> |"),
            "+-");
  EXPECT_EQ(Marks("2 <!-- rows: count() -->\nno claim 77\n"), "+");
}

TEST(ClaimsTest, MayAllowMore) {
  EXPECT_EQ(Marks("1200 <!-- rows: max(throughput) within 5% -->"), "+");
  EXPECT_EQ(Marks("1100 <!-- rows: max(throughput) within 5% -->"), "-");
}

TEST(ClaimsTest, PassesOverFencedCode) {
  EXPECT_EQ(
      Marks("```\n9 <!-- rows: count() -->\n```\n2 <!-- rows: count() -->"),
      "+");
}

TEST(ClaimsTest, WhatRowsCannotAnswerDoesNotHold) {
  EXPECT_EQ(Marks("0.45 <!-- rows: median(train.gpu_use) -->"), "-");
}

TEST(ClaimsTest, NamesTheLine) {
  const auto no_number = FindClaims("one\n<!-- rows: count() -->", "f.md");
  EXPECT_TRUE(absl::IsInvalidArgument(no_number.status()));
  EXPECT_THAT(std::string(no_number.status().message()), HasSubstr("f.md:2:"));
  EXPECT_FALSE(FindClaims("1 <!-- rows: count()", "f.md").ok());
  EXPECT_FALSE(FindClaims("1 <!-- rows: count() within 2 -->", "f.md").ok());
  const auto claims = FindClaims("\n\n1 <!-- rows: nosuch() -->", "f.md");
  ASSERT_TRUE(claims.ok());
  EXPECT_THAT(
      std::string(CheckClaims(*claims, "f.md", TwoRows()).status().message()),
      HasSubstr("f.md:3:"));
}

TEST(ClaimsTest, SaysWhatIsExpected) {
  const auto claims = FindClaims("\n3 <!-- rows: count() -->", "f.md");
  ASSERT_TRUE(claims.ok());
  const auto results = CheckClaims(*claims, "f.md", TwoRows());
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(ClaimsText(*results, "f.md"),
            "✗ f.md:2: 3, but rows say 2  [count()]\n"
            "0 of 1 claims follow from the rows\n");
}

using Outcome = TargetResult::Outcome;

Target MakeTarget(const std::string& value, double min) {
  Target target;
  target.set_name("speed");
  target.set_value(value);
  target.set_min(min);
  target.set_remedy("go faster");
  target.set_needs("rows");
  return target;
}

Outcome OutcomeOf(const Target& target) {
  Targets targets;
  *targets.add_targets() = target;
  const auto report = JudgeTargets(targets, {MakeRow("a", "Blur", 100)});
  EXPECT_TRUE(report.ok()) << report.status();
  return report->targets[0].outcome;
}

TEST(TargetsTest, JudgesByBounds) {
  EXPECT_EQ(OutcomeOf(MakeTarget("max(throughput)", 100)), Outcome::kReached);
  EXPECT_EQ(OutcomeOf(MakeTarget("max(throughput)", 101)), Outcome::kMissed);
  Target below = MakeTarget("max(throughput)", 1);
  below.set_max(99);
  EXPECT_EQ(OutcomeOf(below), Outcome::kMissed);
}

TEST(TargetsTest, CannotTellWithoutRows) {
  EXPECT_EQ(OutcomeOf(MakeTarget("max(throughput, mode == \"train\")", 1)),
            Outcome::kCannotTell);
  EXPECT_EQ(OutcomeOf(MakeTarget("median(train.gpu_use)", 1)),
            Outcome::kCannotTell);
}

TEST(TargetsTest, DiagnosesOnlyWhatIsWrong) {
  Targets targets;
  *targets.add_targets() = MakeTarget("count()", 1);
  Diagnosis* oom = targets.add_diagnoses();
  oom->set_name("out of memory");
  oom->set_value("count(status == \"oom\")");
  oom->set_above(0);
  oom->set_meaning("rows ran out of memory");
  oom->set_remedy("smaller batches");
  std::vector<Row> rows = {MakeRow("a", "Blur", 100)};
  EXPECT_TRUE(JudgeTargets(targets, rows)->diagnoses.empty());
  rows.push_back(MakeRow("b", "Blur", 0));
  rows.back().set_status("oom");
  const auto report = JudgeTargets(targets, rows);
  ASSERT_EQ(report->diagnoses.size(), 1u);
  EXPECT_THAT(TargetsText(*report), HasSubstr("1 rows ran out of memory"));
  EXPECT_THAT(TargetsText(*report), HasSubstr("smaller batches"));
}

TEST(TargetsTest, TheCheckedInFileIsRight) {
  const auto targets = LoadTargets("configs/gate/targets.textproto");
  ASSERT_TRUE(targets.ok()) << targets.status();
  EXPECT_EQ(targets->targets_size(), 7);
  EXPECT_EQ(targets->diagnoses_size(), 4);
  EXPECT_TRUE(JudgeTargets(*targets, {MakeRow("a", "Blur", 1)}).ok());
}

// A row of each mode, so that no target may say that it cannot tell.
TEST(TargetsTest, TheCheckedInFileReadsWhatRowsHave) {
  std::vector<Row> rows;
  for (const int workers : {0, 1}) {
    rows.push_back(MakeRow("native", "", 100));
    rows.back().set_mode("pipeline");
    rows.back().set_device("cuda");
    rows.back().set_workers(workers);
    rows.back().mutable_loader()->mutable_gpu()->set_busy(0.5);
  }
  for (const char* precision : {"fp32", "bf16"}) {
    rows.push_back(MakeRow("torch", "", 100));
    rows.back().set_mode("train");
    (*rows.back().mutable_settings())["precision"] = precision;
    rows.back().mutable_train()->set_gpu_use(0.5);
    rows.back().mutable_gpu_memory()->set_peak_allocated_bytes(1);
  }
  const auto targets = LoadTargets("configs/gate/targets.textproto");
  ASSERT_TRUE(targets.ok()) << targets.status();
  const auto report = JudgeTargets(*targets, rows);
  ASSERT_TRUE(report.ok()) << report.status();
  for (const TargetResult& result : report->targets) {
    EXPECT_NE(result.outcome, Outcome::kCannotTell)
        << result.target.name() << ": " << result.reason;
  }
}

TEST(TargetsTest, RefusesAFieldThatNoRowCanHave) {
  const std::string path = ::testing::TempDir() + "/fields.textproto";
  for (const char* value :
       {"median(loader.gpu_use)", "median(loader.gpu)", "median(train.losses)",
        "count(throghput > 1)", "median(throughput) / median(loader.gpu.bussy)",
        "ratio(throughput, lib == 1, library == \"a\")",
        "max_quotient(p99_s, p5_s)", "distinct(libary)"}) {
    const std::string text =
        absl::StrCat("targets { name: \"speed\" value: '", value,
                     "' min: 1 remedy: \"r\" needs: \"n\" }");
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
    const absl::Status status = LoadTargets(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << value;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("fields.textproto"), HasSubstr("speed")))
        << value;
  }
}

TEST(TargetsTest, RefusesHalfATarget) {
  const std::string path = ::testing::TempDir() + "/targets.textproto";
  for (const char* bad :
       {"", "targets { name: \"a\" }", "targets { value: \"count()\" min: 1 }",
        "targets { name: \"a\" value: \"count()\" remedy: \"r\" needs: \"n\" }",
        "tragets {}"}) {
    ASSERT_TRUE(WriteFileAtomically(path, bad).ok());
    EXPECT_FALSE(LoadTargets(path).ok()) << bad;
  }
}

}  // namespace
}  // namespace feedrate
