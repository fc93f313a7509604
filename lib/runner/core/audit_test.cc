#include "lib/runner/core/audit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Name(int64_t item) { return absl::StrCat("i", item); }

AuditCoverage Coverage(const BatchIds& epoch, int64_t items) {
  AuditCoverage coverage;
  AddCoverage(epoch, items, 0, Name, &coverage);
  return coverage;
}

TEST(AuditTest, CountsAndNamesWhatAnEpochLacksAndHasTwice) {
  const AuditCoverage coverage = Coverage({{0, 1, 1}, {1, 3, 9}}, 5);
  EXPECT_EQ(coverage.missing(), 2);
  EXPECT_EQ(coverage.duplicates(), 2);
  EXPECT_EQ(coverage.unreadable(), 1) << "9 is no item";
  EXPECT_THAT(coverage.first_missing(), ElementsAre("i2", "i4"));
  EXPECT_THAT(coverage.first_duplicates(), ElementsAre("i1"));
  EXPECT_EQ(Coverage({{2, 0}, {1}}, 3).missing(), 0);
}

TEST(AuditTest, AHashIsThatOfItsText) {
  // printf '2 0\n1\n' | sha256sum
  EXPECT_EQ(ScheduleSha256({{2, 0}, {1}}),
            "06c50ab3954dc3eefe3b614e4e81b1b4f3e5d8bffbfd7c97c06c13663c4a0cab");
  EXPECT_NE(ScheduleSha256({{2, 0}, {1}}), ScheduleSha256({{2}, {0, 1}}));
}

TEST(AuditTest, RanksShareNothingAndHaveAsManyBatches) {
  const AuditRanks good = CompareRanks({{{0, 2}, {4}}, {{1, 3}, {5}}}, 6);
  EXPECT_THAT(good.batches(), ElementsAre(2, 2));
  EXPECT_EQ(good.shared_items() + good.missing() + good.duplicates(), 0);
  const AuditRanks bad = CompareRanks({{{0, 2}, {0, 2}}, {{0, 3}}}, 6);
  EXPECT_THAT(bad.batches(), ElementsAre(2, 1));
  EXPECT_EQ(bad.shared_items(), 1) << "2 came twice, to one rank";
  EXPECT_EQ(bad.duplicates(), 2);
  EXPECT_EQ(bad.missing(), 3);
}

TEST(AuditTest, AResumedEpochHasEachItemOnce) {
  const BatchIds whole = {{3, 1}, {0, 2}};
  const AuditResume exact = CompareResumed({{3, 1}}, {{0, 2}}, whole, 4);
  EXPECT_TRUE(exact.same_batches());
  EXPECT_EQ(exact.lost() + exact.repeated_items(), 0);
  const AuditResume other = CompareResumed({{3, 1}}, {{2, 0}}, whole, 4);
  EXPECT_FALSE(other.same_batches());
  EXPECT_EQ(other.lost() + other.repeated_items(), 0);
  const AuditResume bad = CompareResumed({{3, 1}}, {{1, 2}}, whole, 4);
  EXPECT_EQ(bad.lost(), 1);
  EXPECT_EQ(bad.repeated_items(), 1);
}

TEST(AuditTest, GrowthThatStopsIsNoLeak) {
  std::vector<double> leaks, fills, noise, steps, late;
  for (int i = 0; i < 60; ++i) {
    leaks.push_back(1e8 + 1e5 * i + 2e5 * (i % 3));
    fills.push_back(1e8 + 1e6 * std::min(i, 30));
    noise.push_back(1e8 + 1e6 * ((i * 7) % 5));
    // As torch's DataLoader does: 12 epochs of rest, 8 of growth.
    steps.push_back(1e8 + 1e6 * (i / 20 * 8 + std::max(i % 20 - 12, 0)));
    late.push_back(1e8 + 1e6 * std::min(i, 20) + 1e4 * i);
  }
  const AuditGrowth leak = GrowthOf(leaks, 3);
  EXPECT_EQ(leak.verdict(), "leak");
  EXPECT_NEAR(leak.slope_bytes(), 1e5, 2e4);
  EXPECT_EQ(leak.epochs(), 48);
  EXPECT_EQ(GrowthOf(fills, 3).verdict(), "steady");
  EXPECT_EQ(GrowthOf(noise, 3).verdict(), "steady");
  EXPECT_EQ(GrowthOf(steps, 3).verdict(), "steady");
  EXPECT_GT(GrowthOf(steps, 3).slope_low_bytes(), 1e5);
  // A leak beside a cache that fills up.
  EXPECT_EQ(GrowthOf(late, 3).verdict(), "leak");
  EXPECT_EQ(GrowthOf(absl::MakeSpan(leaks).first(30), 3).verdict(),
            "cannot_tell");
  EXPECT_EQ(GrowthOf({}, 3).verdict(), "cannot_tell");
}

TEST(AuditTest, ASoakOfManyEpochsHasTheSameSlope) {
  std::vector<double> leaks;
  for (int i = 0; i < 5000; ++i) leaks.push_back(1e8 + 1e5 * i);
  EXPECT_NEAR(GrowthOf(leaks, 3).slope_bytes(), 1e5, 1);
}

Audit Passing() {
  Job job;
  job.set_library("native");
  job.set_transform("Flip");
  job.set_mode("pipeline");
  Audit audit = StartAudit(job, "run");
  *audit.mutable_coverage() = Coverage({{1, 0}}, 2);
  AuditOrder* const order = audit.mutable_order();
  order->set_shuffled(true);
  order->set_differs_between_epochs(true);
  order->set_same_for_same_seed(true);
  order->set_differs_between_seeds(true);
  *audit.add_ranks() = CompareRanks({{{0}}, {{1}}}, 2);
  audit.mutable_resume()->set_reason("no mechanism");
  return audit;
}

TEST(AuditTest, NoMechanismAndADependenceOnWorkersAreNoFaults) {
  Audit audit = Passing();
  JudgeAudit(&audit);
  EXPECT_EQ(audit.verdict(), "pass");
  EXPECT_THAT(audit.faults(), IsEmpty());
  const std::string table = AuditTable({audit});
  EXPECT_THAT(table, HasSubstr("no mechanism"));
  EXPECT_THAT(table, HasSubstr("other batches"));
}

TEST(AuditTest, AStateThatCannotBeContinuedIsAFault) {
  Audit audit = Passing();
  audit.mutable_resume()->set_reason("killed by SIGSEGV");
  JudgeAudit(&audit);
  EXPECT_EQ(audit.verdict(), "fail");
  EXPECT_THAT(AuditTable({audit}),
              HasSubstr("cannot be continued: killed by SIGSEGV"));
}

TEST(AuditTest, AnAuditThatFailedIsNoPass) {
  Audit pass = Passing(), fail = Passing(), crash = Passing();
  JudgeAudit(&pass);
  fail.add_faults("2 ranks: crashed: killed by SIGSEGV");
  JudgeAudit(&fail);
  FailAudit(absl::AbortedError("killed by SIGSEGV"), &crash);
  Audit unsupported = Passing();
  unsupported.set_status("unsupported");
  EXPECT_EQ(ExitCodeOfAudits({pass, unsupported}), ExitCode::kDone);
  EXPECT_EQ(ExitCodeOfAudits({pass, crash}), ExitCode::kRunFailed);
  EXPECT_EQ(ExitCodeOfAudits({unsupported}), ExitCode::kRunFailed);
  EXPECT_EQ(ExitCodeOfAudits({}), ExitCode::kRunFailed);
  EXPECT_EQ(ExitCodeOfAudits({pass, fail, crash}), ExitCode::kCheckSaidNo);
}

TEST(AuditTest, EveryFaultIsNamed) {
  Audit audit = Passing();
  *audit.mutable_coverage() = Coverage({{1, 1}}, 2);
  audit.mutable_order()->Clear();
  *audit.mutable_ranks(0) = CompareRanks({{{0}, {0}}, {{0}}}, 2);
  *audit.mutable_resume() = CompareResumed({{1}}, {{1}}, {{1}, {0}}, 2);
  audit.mutable_growth()->set_verdict("leak");
  AuditWeights* const weights = audit.add_weights();
  weights->set_stream("rank 0 of 2");
  JudgeAudit(&audit);
  EXPECT_EQ(audit.verdict(), "fail");
  const std::string table = AuditTable({audit});
  for (const char* text :
       {"1 item missing in 1 epoch (i0)", "1 item too many in 1 epoch (i1)",
        "items are not shuffled", "two epochs have the same order",
        "the same seed gives another order", "another seed gives the same",
        "2 ranks: they got 2, 1 batches", "2 ranks: 1 item on two or more",
        "2 ranks: 1 item on none", "2 ranks: 1 item too many",
        "continued after batch 1: 1 item lost",
        "continued after batch 1: 1 item again", "memory grows",
        "rank 0 of 2: weights are not kept"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
}

}  // namespace
}  // namespace feedrate
