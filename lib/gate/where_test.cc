#include "lib/gate/where.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/xoshiro.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// `slow` takes 10 ms more in B, `other` scatters by 1 ms, `gone` is only in A.
std::vector<PartPair> Pairs(int count, double more) {
  Xoshiro256 random(3);
  std::vector<PartPair> pairs;
  for (int i = 0; i < count; ++i) {
    const auto noise = [&random] { return 0.001 * random.Normal(); };
    pairs.push_back(
        {{{"slow", 0.05 + noise()}, {"other", 0.1 + noise()}, {"gone", 0.002}},
         {{"slow", 0.05 + more + noise()}, {"other", 0.1 + noise()}}});
  }
  return pairs;
}

TEST(RankPartsTest, TheLargestChangeComesFirstWithItsShareAndInterval) {
  const std::vector<ProfilePart> parts = RankParts(Pairs(10, 0.01));
  ASSERT_EQ(parts.size(), 3);
  EXPECT_EQ(parts[0].name(), "slow");
  EXPECT_NEAR(parts[0].change_s(), 0.01, 0.001);
  EXPECT_LT(parts[0].low_s(), parts[0].change_s());
  EXPECT_GT(parts[0].low_s(), 0.008);
  EXPECT_LT(parts[0].high_s(), 0.012);
  // 10 of 8 ms, because `gone` saves 2 ms.
  EXPECT_NEAR(parts[0].share_percent(), 125, 15);
  EXPECT_LT(parts[0].share_low_percent(), parts[0].share_percent());
  EXPECT_GT(parts[0].share_high_percent(), parts[0].share_percent());
  EXPECT_EQ(parts[1].name(), "gone");
  EXPECT_NEAR(parts[1].share_percent(), -25, 5);
  EXPECT_LT(parts[2].low_s(), 0);
  EXPECT_GT(parts[2].high_s(), 0);
  double sum = 0;
  for (const ProfilePart& part : parts) sum += part.share_percent();
  EXPECT_NEAR(sum, 100, 1e-6);
}

TEST(RankPartsTest, NoSharesOfAChangeThatIsNotClear) {
  for (const ProfilePart& part : RankParts(Pairs(10, 0.002))) {
    EXPECT_FALSE(part.has_share_percent()) << part.name();
  }
  EXPECT_FALSE(RankParts(Pairs(1, 0.01))[0].has_share_percent());
}

TEST(MakeProfileTest, StacksBecomeAFunctionsTableAndATree) {
  const FoldedStacks a = {{"main;work", 0.04}, {"main", 0.01}};
  const FoldedStacks b = {{"main;work;slow", 0.02},
                          {"main;work", 0.04},
                          {"main", 0.01},
                          {"main;rare", 0.00001}};
  const Profile profile = MakeProfile("perf", {a, a}, {b, b});
  EXPECT_NEAR(profile.a_s(), 0.05, 1e-12);
  EXPECT_NEAR(profile.b_s(), 0.07001, 1e-12);
  EXPECT_EQ(profile.parts(0).name(), "slow");
  EXPECT_NEAR(profile.parts(0).share_percent(), 100, 0.1);
  std::vector<std::string> frames;
  for (const ProfileFrame& frame : profile.frames()) {
    frames.push_back(frame.name());
  }
  EXPECT_THAT(frames, ::testing::ElementsAre("all", "main", "work", "slow"));
  EXPECT_EQ(profile.frames(0).parent(), -1);
  EXPECT_EQ(profile.frames(3).parent(), 2);
  EXPECT_NEAR(profile.frames(2).b_s(), 0.06, 1e-12);
  const std::string text = ProfileText(profile, 1);
  EXPECT_THAT(text, HasSubstr("CPU time per run: A 50.0 ms, B 70.0 ms"));
  EXPECT_THAT(text, HasSubstr("slow"));
  EXPECT_THAT(text, Not(HasSubstr("rare")));
}

Row PairedRow(int pair, bool side_b, double decode_s) {
  Row row;
  row.set_job_id("0123456789abcdef");
  row.set_status("ok");
  row.set_items(100);
  row.set_elapsed_s(1);
  row.set_throughput(100);
  row.mutable_pair()->set_index(pair);
  row.mutable_pair()->set_side(side_b ? "b" : "a");
  LoaderStage* read = row.mutable_loader()->add_stages();
  read->set_name("read");
  read->set_busy_s(0.1 + 0.001 * (pair % 3));
  LoaderStage* decode = row.mutable_loader()->add_stages();
  decode->set_name("decode");
  decode->set_busy_s(decode_s + 0.001 * (pair % 2));
  return row;
}

TEST(RowPartsTest, StagesOfALoaderPerItem) {
  PairedRows rows(RunStatistic::kTotal);
  for (int i = 0; i < 6; ++i) {
    rows.Add(PairedRow(i, false, 0.5));
    Row b = PairedRow(i, true, 0.6);
    LoaderStage* broken = b.mutable_loader()->add_stages();
    broken->set_name("broken");
    broken->set_busy_s(i % 2 == 0 ? 1e308 : -INFINITY);
    rows.Add(b);
  }
  const std::vector<ProfilePart> parts = RowParts(rows.jobs()[0]);
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(parts[0].name(), "decode");
  EXPECT_NEAR(parts[0].change_s(), 0.001, 1e-9);
  EXPECT_NEAR(parts[0].share_percent(), 100, 1e-6);
  EXPECT_EQ(parts[1].name(), "read");
  EXPECT_NEAR(parts[1].change_s(), 0, 1e-9);
}

TEST(RowPartsTest, PartsOfATrainingStep) {
  PairedRows rows(RunStatistic::kTotal);
  for (int i = 0; i < 12; ++i) {
    Row row = PairedRow(i / 2, i % 2 == 1, 0.5);
    row.clear_loader();
    row.mutable_train()->mutable_budget()->set_forward_s(0.2);
    row.mutable_train()->mutable_budget()->set_backward_s(i % 2 == 1 ? 0.5
                                                                     : 0.4);
    rows.Add(row);
  }
  const std::vector<ProfilePart> parts = RowParts(rows.jobs()[0]);
  ASSERT_FALSE(parts.empty());
  EXPECT_EQ(parts[0].name(), "backward");
  EXPECT_NEAR(parts[0].change_s(), 0.1, 1e-9);
}

TEST(RowPartsTest, NoneWithoutStages) {
  PairedRows rows(RunStatistic::kTotal);
  for (int i = 0; i < 4; ++i) {
    Row row = PairedRow(i / 2, i % 2 == 1, 0.5);
    row.clear_loader();
    rows.Add(row);
  }
  EXPECT_TRUE(RowParts(rows.jobs()[0]).empty());
}

}  // namespace
}  // namespace feedrate
