#include "lib/gate/explain.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/gate/testing_rows.h"

namespace feedrate {
namespace {

TEST(ExplainTest, WalksThroughEachLook) {
  PairedRows rows(RunStatistic::kTypical);
  Duel duel;
  for (const int look : {10, 20, 30}) duel.add_stages(look);
  rows.Add(duel);
  AddPairs("x", 20, 0.05, 0.005, 1, &rows);
  const Verdict verdict = JudgePairs(rows, {})[0];
  const std::string text = ExplainPairs(rows.jobs()[0], rows, {}, verdict);
  for (const char* part : {"Look 1, after 10 pairs", "cannot prove a change",
                           "Look 2, after 20", "the look may spend 2e-06",
                           "-> slower", "Verdict: slower", "0.01 / 1 jobs"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("Look 3"), std::string::npos);
}

TEST(ExplainTest, ListsEveryRule) {
  Verdict verdict;
  verdict.set_job("metrics");
  verdict.set_verdict("slower");
  RuleCheck* check = verdict.add_checks();
  check->set_metric("perplexity");
  check->set_baseline(20);
  check->set_current(21);
  check->set_worse_by(5);
  check->set_allowed(1.5);
  check->set_unit("%");
  check->set_result("fail");
  const std::string text = ExplainRules(verdict);
  EXPECT_NE(text.find("perplexity        20   21        5%     1.5%  fail"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace feedrate
