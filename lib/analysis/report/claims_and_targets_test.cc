#include "lib/analysis/report/claims_and_targets.h"

#include <cstdint>
#include <set>
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

// What a harness does without any work must not answer for a library.
TEST(ExpressionTest, LeavesTheHarnessOutUnlessToldOtherwise) {
  std::vector<Row> rows = Rows();
  rows.push_back(MakeRow("null", "Blur", 2e7));
  rows.push_back(MakeRow("null", "Flip", 2e7));
  for (const char* expression :
       {"median(throughput)", "mean(throughput)", "min(throughput)",
        "max(throughput)", "sum(throughput)", "count()", "distinct(library)",
        "share(transform == \"Blur\")", "mfu(1e9, 1e12)",
        "max_quotient(throughput, throughput)",
        "ratio(throughput, transform==\"Blur\", transform==\"Flip\")",
        "percent(throughput, transform==\"Blur\", transform==\"Flip\")"}) {
    const auto value = Evaluate(expression, rows);
    ASSERT_TRUE(value.ok()) << expression << ": " << value.status();
    EXPECT_DOUBLE_EQ(*value, ValueOf(expression)) << expression;
  }
  EXPECT_DOUBLE_EQ(*Evaluate("max(throughput, library == \"null\")", rows),
                   2e7);
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
  for (const char* share : {"2", "101%", "1e300%", "inf%", "nan%", "-1%"}) {
    EXPECT_FALSE(
        FindClaims(absl::StrCat("1 <!-- rows: count() within ", share, " -->"),
                   "f.md")
            .ok())
        << share;
  }
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
  EXPECT_EQ(targets->diagnoses_size(), 5);
  EXPECT_TRUE(JudgeTargets(*targets, {MakeRow("a", "Blur", 1)}).ok());
}

// Rows of each mode for which every target is missed and every diagnosis made,
// or, if they are `good`, none. Beside them stand rows of the harness, which
// are as good as can be, and must not count.
std::vector<Row> RowsForTargets(bool good) {
  const auto loader_row = [](const std::string& library, double throughput,
                             int workers, double busy) {
    Row row = MakeRow(library, "", throughput);
    row.set_mode("pipeline");
    row.set_device("cuda");
    row.set_workers(workers);
    row.mutable_loader()->mutable_gpu()->set_busy(busy);
    return row;
  };
  const auto train_row = [](const std::string& library, double throughput,
                            const std::string& precision, double use,
                            int64_t memory) {
    Row row = MakeRow(library, "", throughput);
    row.set_mode("train");
    (*row.mutable_settings())["precision"] = precision;
    row.mutable_train()->set_gpu_use(use);
    row.mutable_gpu_memory()->set_peak_allocated_bytes(memory);
    row.set_p50_s(1);
    row.set_p99_s(1);
    return row;
  };
  std::vector<Row> rows;
  for (int i = 0; i < 5; ++i) {
    rows.push_back(loader_row("null", 2e7, 0, 1));
    rows.push_back(loader_row("null", 2e7, 1, 1));
    rows.push_back(train_row("null", 2e7, "fp32", 1, 1000));
    rows.push_back(train_row("null", 9e7, "bf16", 1, 1));
  }
  const double use = good ? 0.95 : 0.4;
  rows.push_back(loader_row("native", good ? 2000 : 900, 0, use));
  rows.push_back(loader_row("native", good ? 1990 : 100, 1, use));
  rows.push_back(train_row("torch", good ? 200 : 50, "fp32", use, 1000));
  rows.push_back(
      train_row("torch", good ? 400 : 51, "bf16", use, good ? 400 : 900));
  if (!good) {
    rows.back().set_p99_s(9);
    rows.push_back(train_row("torch", 0, "fp32", use, 1));
    rows.back().set_status("oom");
  }
  return rows;
}

TEST(TargetsTest, EveryTargetAndDiagnosisOfTheFileCanFail) {
  const auto targets = LoadTargets("configs/gate/targets.textproto");
  ASSERT_TRUE(targets.ok()) << targets.status();
  const auto bad = JudgeTargets(*targets, RowsForTargets(false));
  ASSERT_TRUE(bad.ok()) << bad.status();
  for (const TargetResult& result : bad->targets) {
    EXPECT_EQ(result.outcome, Outcome::kMissed)
        << result.target.name() << ": " << result.value.value_or(-1)
        << result.reason;
  }
  std::set<std::string> made;
  for (const DiagnosisResult& result : bad->diagnoses) {
    made.insert(result.diagnosis.name());
  }
  for (const Diagnosis& diagnosis : targets->diagnoses()) {
    EXPECT_EQ(made.count(diagnosis.name()), 1u) << diagnosis.name();
  }
}

TEST(TargetsTest, EveryTargetOfTheFileCanBeReached) {
  const auto targets = LoadTargets("configs/gate/targets.textproto");
  ASSERT_TRUE(targets.ok()) << targets.status();
  const auto good = JudgeTargets(*targets, RowsForTargets(true));
  ASSERT_TRUE(good.ok()) << good.status();
  for (const TargetResult& result : good->targets) {
    EXPECT_EQ(result.outcome, Outcome::kReached)
        << result.target.name() << ": " << result.value.value_or(-1)
        << result.reason;
  }
  EXPECT_TRUE(good->diagnoses.empty()) << TargetsText(*good);
}

TEST(TargetsTest, NamesDiagnosesThatRowsCannotAnswer) {
  const auto targets = LoadTargets("configs/gate/targets.textproto");
  ASSERT_TRUE(targets.ok()) << targets.status();
  const auto report = JudgeTargets(*targets, {MakeRow("a", "Blur", 1)});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(TargetsText(*report),
              HasSubstr("Not diagnosed, because the rows lack the numbers: low "
                        "GPU use while loading, "));
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
