#include "lib/analysis/mixture/mixture_summary.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/mixture_stalls.h"
#include "lib/analysis/mixture/testing/batches.h"
#include "lib/draw/document.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Batch> Batches() {
  std::vector<Batch> batches;
  for (int i = 0; i < 20; ++i) {
    batches.push_back(i % 5 == 4 ? MakeBatch(i, {{"b", 6}, {"a", 2}}, 0.4)
                                 : MakeBatch(i, {{"a", 7}, {"b", 1}}, 0.1));
  }
  batches[0].add_first_seen("a");
  batches[0].add_first_seen("b");
  batches[0].set_wait_s(0.9);
  return batches;
}

TEST(MixtureSummaryTest, SaysFactsStallsWaitsAndAdvice) {
  Row row = MakeMixtureRow({{"a", 0.7}, {"b", 0.3}});
  row.add_labels("indicative");
  row.mutable_mixture()->set_teardown_killed(true);
  row.mutable_mixture()->set_skipped(3);
  const std::string text = MixtureSummary(MixtureRunsOf({row}, Batches()));
  EXPECT_THAT(text, HasSubstr("native, mix_block_length 4"));
  EXPECT_THAT(text, HasSubstr("640 samples/s, 10.0 batches/s"));
  EXPECT_THAT(text, HasSubstr("mixture error: 2.1%"));
  EXPECT_THAT(text, HasSubstr("(killed)"));
  EXPECT_THAT(text, HasSubstr("left out: 3"));
  EXPECT_THAT(text, HasSubstr("labels: indicative"));
  EXPECT_THAT(text, HasSubstr("Data sets by the stalls they cause"));
  EXPECT_THAT(text, HasSubstr("    0      900  a             87.5%  a b"));
  EXPECT_THAT(text, HasSubstr("b dominates are waited for 4.0x"));
  // One slow start says nothing about the data set that had it.
  EXPECT_THAT(text, Not(HasSubstr("a dominates")));
  EXPECT_THAT(text, Not(HasSubstr("first seen after")));
}

TEST(MixtureSummaryTest, WithoutARowItSaysWhatBatchesKnow) {
  const std::string text = MixtureSummary(MixtureRunsOf({}, Batches()));
  EXPECT_THAT(text, HasSubstr("batches: 20 measured after 0 of warm-up"));
  EXPECT_THAT(text, HasSubstr("waited: 4.00 s"));
  EXPECT_THAT(text, Not(HasSubstr("samples/s")));
}

TEST(MixtureSummaryTest, StallsCanBeSortedByNumbers) {
  const MixtureRun run = MixtureRunsOf({}, Batches()).at(0);
  const DocumentTable table = StallTable(StallsOf(run));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0][0].text, "b");
  EXPECT_EQ(table.rows[0][3].value, 4);
  EXPECT_EQ(table.rows[0][1].text, "–");
}

}  // namespace
}  // namespace feedrate
