#include "lib/runner/core/audit.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/worker.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AuditTest, AHashIsThatOfItsText) {
  // printf '2 0\n1\n' | sha256sum
  EXPECT_EQ(ScheduleSha256({{2, 0}, {1}}),
            "06c50ab3954dc3eefe3b614e4e81b1b4f3e5d8bffbfd7c97c06c13663c4a0cab");
  EXPECT_NE(ScheduleSha256({{2, 0}, {1}}), ScheduleSha256({{2}, {0, 1}}));
}

TEST(AuditTest, ItemsWithoutIdAreInTheLastBatch) {
  EpochReply reply;
  EXPECT_THAT(BatchIdsOf(reply), IsEmpty());
  reply.add_ids()->add_list(4);
  reply.set_unreadable(2);
  EXPECT_THAT(BatchIdsOf(reply), ElementsAre(ElementsAre(4, -1, -1)));
}

TEST(AuditTest, InterruptionsAreApart) {
  EXPECT_THAT(InterruptionsOf(13, 1), ElementsAre(6));
  EXPECT_THAT(InterruptionsOf(13, 3), ElementsAre(3, 6, 9));
  EXPECT_THAT(InterruptionsOf(1, 3), ElementsAre(1));
  EXPECT_TRUE(CheckResumes(1, false).ok());
  EXPECT_TRUE(CheckResumes(3, true).ok());
  EXPECT_FALSE(CheckResumes(3, false).ok());
  EXPECT_FALSE(CheckResumes(0, true).ok());
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
  audit.mutable_coverage()->set_epochs(2);
  AuditOrder* const order = audit.mutable_order();
  order->set_shuffled(true);
  order->set_differs_between_epochs(true);
  order->set_same_for_same_seed(true);
  order->set_differs_between_seeds(true);
  audit.add_ranks()->set_ranks(2);
  audit.add_resumes()->set_reason("no mechanism");
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

// It passed.
TEST(AuditTest, ASoakOfTooFewEpochsCannotTell) {
  Audit audit = Passing(), pass = Passing();
  *audit.mutable_growth() = GrowthOf({1e8, 1e8, 1e8}, 3);
  JudgeAudit(&audit);
  JudgeAudit(&pass);
  EXPECT_EQ(audit.verdict(), "");
  EXPECT_THAT(audit.reason(), HasSubstr("too few to say whether memory grows"));
  EXPECT_THAT(AuditTable({audit}), HasSubstr("cannot tell"));
  EXPECT_THAT(AuditTable({audit}), HasSubstr("give --soak longer"));
  EXPECT_EQ(ExitCodeOfAudits({pass, audit}), ExitCode::kCannotTell);
}

TEST(AuditTest, AStateThatCannotBeContinuedIsAFault) {
  Audit audit = Passing();
  audit.mutable_resumes(0)->set_reason("killed by SIGSEGV");
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
  audit.add_faults("epoch 1: 1 of 2 items never seen");
  audit.mutable_coverage()->set_unreadable(1);
  audit.mutable_order()->Clear();
  audit.mutable_resumes(0)->set_reason("killed");
  audit.mutable_growth()->set_verdict("leak");
  AuditWeights* const weights = audit.add_weights();
  weights->set_stream("rank 0 of 2");
  JudgeAudit(&audit);
  EXPECT_EQ(audit.verdict(), "fail");
  const std::string table = AuditTable({audit});
  for (const char* text :
       {"1 of 2 items never seen", "1 item without id in 2 epochs",
        "the same seed gives another order", "another seed gives the same",
        "its own state cannot be continued: killed", "memory grows",
        "rank 0 of 2: weights are not kept"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
}

}  // namespace
}  // namespace feedrate
