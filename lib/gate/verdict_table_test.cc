#include "lib/gate/verdict_table.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/suite.h"

namespace feedrate {
namespace {

Verdict Job(const std::string& name, const std::string& word, double percent) {
  Verdict job;
  job.set_scope("job");
  job.set_job(name);
  job.set_verdict(word);
  job.set_mode("paired");
  job.set_reason(name + " reason");
  job.set_level(2e-5);
  job.set_p_value(0.25);
  job.mutable_effect()->set_percent(percent);
  job.mutable_effect()->set_low_percent(percent - 1);
  job.mutable_effect()->set_high_percent(percent + 1);
  job.mutable_effect()->set_confidence(0.99);
  job.set_command("duel " + name);
  if (word != "same") job.add_codes("time");
  return job;
}

TEST(VerdictTableTest, TheWorstComesFirst) {
  const std::vector<Verdict> jobs = {
      Job("a", "same", 0), Job("b", "slower", 3), Job("c", "faster", -4),
      Job("d", "slower", 9), Job("e", "cannot_tell", 1)};
  std::string order;
  for (const Verdict& job : WorstFirst(jobs)) order += job.job();
  EXPECT_EQ(order, "dbeca");
}

TEST(VerdictTableTest, TextSaysWhatHowMuchHowSureAndHowToRepeat) {
  const std::vector<Verdict> jobs = {Job("a", "same", 0),
                                     Job("b", "slower", 3)};
  const std::string text = VerdictText(jobs, SuiteVerdict(jobs, {}), 0);
  for (const char* part :
       {"slower", "+3.00%", "+2.00% … +4.00%", "0.2", "1 slower, 1 same",
        "b reason", "again: duel b", "once in 50000"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("again: duel a"), std::string::npos);
}

TEST(VerdictTableTest, ManyThatAreTheSameAreCounted) {
  std::vector<Verdict> jobs;
  for (int i = 0; i < 9; ++i) jobs.push_back(Job("j", "same", 0));
  const std::string text = VerdictText(jobs, SuiteVerdict(jobs, {}), 4);
  EXPECT_NE(text.find("… and 5 more are the same"), std::string::npos) << text;
}

TEST(VerdictTableTest, MarkdownFoldsWhatIsTheSame) {
  const std::vector<Verdict> jobs = {Job("a", "same", 0),
                                     Job("b", "slower", 3)};
  const std::string text = VerdictMarkdown(jobs, SuiteVerdict(jobs, {}));
  EXPECT_EQ(text.find("### ❌ Performance: 1 slower, 1 same"), 0) << text;
  EXPECT_NE(text.find("<details><summary>1 job is the same"),
            std::string::npos);
  EXPECT_NE(text.find("duel b"), std::string::npos);
  const std::vector<Verdict> good = {Job("a", "same", 0)};
  EXPECT_EQ(VerdictMarkdown(good, SuiteVerdict(good, {})).find("### ✅"), 0);
}

TEST(VerdictTableTest, Counts) {
  EXPECT_EQ(CountsText(VerdictCounts()), "no jobs");
}

}  // namespace
}  // namespace feedrate
