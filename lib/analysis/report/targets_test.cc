#include "lib/analysis/report/targets.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/base/files.h"
#include "lib/config/targets.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
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
  EXPECT_EQ(OutcomeOf(MakeTarget("median(train.mfu)", 1)),
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
