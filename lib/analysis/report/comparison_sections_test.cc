#include "lib/analysis/report/comparison_sections.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/testing/rows.h"
#include "lib/draw/axes.h"
#include "lib/draw/document.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ChangesTest, OnlyIntervalsMakeAChange) {
  const auto word = [](const std::vector<Row>& before,
                       const std::vector<Row>& now) {
    const auto old_cells = CellsOf(before);
    const auto new_cells = CellsOf(now);
    return ChangesBetween(old_cells, new_cells).changes.at(0).word;
  };
  EXPECT_EQ(word(MakeRuns("a", "Blur", 100), MakeRuns("a", "Blur", 200)),
            "faster");
  EXPECT_EQ(word(MakeRuns("a", "Blur", 200), MakeRuns("a", "Blur", 100)),
            "slower");
  EXPECT_EQ(word(MakeRuns("a", "Blur", 100), MakeRuns("a", "Blur", 100)),
            "tied");
  EXPECT_EQ(word({MakeRow("a", "Blur", 1)}, {MakeRow("a", "Blur", 9)}),
            "cannot tell");
  std::vector<Row> noisy = MakeRuns("a", "Blur", 50);
  for (Row& row : noisy) row.add_warnings("noisy");
  EXPECT_EQ(word(MakeRuns("a", "Blur", 100), noisy), "cannot tell");
  // Executions of the same program differ too.
  std::vector<Row> before = MakeRuns("a", "Blur", 100);
  std::vector<Row> now = before;
  for (size_t i = 0; i < now.size(); ++i) {
    before[i].set_throughput(100 + 0.01 * i);
    now[i].set_throughput(101 + 0.01 * i);
  }
  EXPECT_EQ(word(before, now), "cannot tell");
  for (Row& row : now) row.set_throughput(row.throughput() + 6);
  EXPECT_EQ(word(before, now), "faster");
}

TEST(ChangesTest, MemoryIsComparedToo) {
  std::vector<Row> before = MakeRuns("a", "Blur", 100);
  std::vector<Row> now = before;
  for (Row& row : before) row.set_rss_peak_bytes(100 << 20);
  for (Row& row : now) row.set_rss_peak_bytes(150 << 20);
  const auto old_cells = CellsOf(before);
  const auto new_cells = CellsOf(now);
  const Section section = ChangesSection(ChangesBetween(old_cells, new_cells));
  Document document;
  document.sections = {section};
  const std::string text = ToMarkdown(document, "");
  EXPECT_THAT(text, HasSubstr("+50%"));
  EXPECT_THAT(text, Not(HasSubstr("GPU memory")));
}

// Six lines with the same words used to stand there.
TEST(ChangesTest, NamesTheSettingsThatDiffer) {
  std::vector<Row> rows;
  for (const int workers : {0, 2}) {
    for (const char* prefetch : {"1", "4"}) {
      for (Row row : MakeRuns("native", "Blur", 100)) {
        row.set_mode("pipeline");
        row.set_workers(workers);
        row.set_batch_size(64);
        (*row.mutable_settings())["prefetch"] = prefetch;
        row.set_job_id(absl::StrCat(workers, prefetch));
        rows.push_back(row);
      }
    }
  }
  const auto cells = CellsOf(rows);
  Document document;
  document.sections = {ChangesSection(ChangesBetween(cells, cells))};
  const std::string text = ToMarkdown(document, "");
  EXPECT_THAT(text, HasSubstr("workers=0, batch_size=64, prefetch=1"));
  EXPECT_THAT(text, HasSubstr("workers=0, batch_size=64, prefetch=4"));
  EXPECT_THAT(text, HasSubstr("workers=2, batch_size=64, prefetch=1"));
  EXPECT_THAT(text, HasSubstr("workers=2, batch_size=64, prefetch=4"));
}

TEST(ChangesTest, OtherMachinesAreNotCompared) {
  std::vector<Row> other = MakeRuns("a", "Blur", 100);
  for (Row& row : other) row.set_machine_profile("other");
  const auto before = CellsOf(other);
  const auto now = CellsOf(MakeRuns("a", "Blur", 100));
  const Changes changes = ChangesBetween(before, now);
  EXPECT_TRUE(changes.changes.empty());
  EXPECT_EQ(changes.only_now, 1);
  EXPECT_EQ(changes.only_before, 1);
}

Verdict JobVerdict(const std::string& job, const std::string& word,
                   double percent) {
  Verdict verdict;
  verdict.set_scope("job");
  verdict.set_job_id("id-" + job);
  verdict.set_job(job);
  verdict.set_verdict(word);
  verdict.set_metric("time");
  verdict.set_pairs(20);
  verdict.mutable_effect()->set_percent(percent);
  verdict.mutable_effect()->set_low_percent(percent - 1);
  verdict.mutable_effect()->set_high_percent(percent + 1);
  verdict.mutable_effect()->set_confidence(0.99);
  return verdict;
}

Verdict Suite() {
  Verdict verdict;
  verdict.set_scope("suite");
  verdict.set_verdict("slower");
  verdict.mutable_counts()->set_slower(1);
  verdict.mutable_counts()->set_same(2);
  verdict.set_reason("one job is slower");
  verdict.set_exit_code(3);
  return verdict;
}

std::string PageOf(std::vector<Verdict> verdicts) {
  Document document;
  const auto section = VerdictsSection(std::move(verdicts));
  if (section.has_value()) document.sections.push_back(*section);
  return ToMarkdown(document, "");
}

TEST(VerdictsSectionTest, NoneWithoutVerdicts) {
  EXPECT_FALSE(VerdictsSection({}).has_value());
}

TEST(VerdictsSectionTest, TheSuiteComesFirstThenWhatIsSlower) {
  const std::string text = PageOf(
      {JobVerdict("a", "same", 0.1), JobVerdict("b", "slower", 4.2), Suite()});
  EXPECT_THAT(text, HasSubstr("All jobs: slower; 1 slower, 2 same; one job is "
                              "slower; exit 3."));
  EXPECT_LT(text.find("All jobs"), text.find("| b "));
  EXPECT_LT(text.find("| b "), text.find("| a "));
  EXPECT_THAT(text, HasSubstr("+4.2%"));
  EXPECT_THAT(text, HasSubstr("[+3.2%, +5.2%]"));
}

TEST(VerdictsSectionTest, CodesAndReasonsAreShownButNoCommandsOfRecords) {
  Verdict crashed = JobVerdict("a", "invalid", 0);
  crashed.clear_effect();
  crashed.add_codes("crashed");
  crashed.add_codes("too_few");
  crashed.set_reason("b crashed in pair 3");
  crashed.set_command("duel --a=x --b=y");
  const std::string text = PageOf({crashed});
  EXPECT_THAT(text, HasSubstr("crashed, too_few"));
  EXPECT_THAT(text, HasSubstr("b crashed in pair 3"));
  EXPECT_THAT(text, Not(HasSubstr("duel --a=x --b=y")));
  EXPECT_THAT(text, HasSubstr("not measured"));
}

TEST(VerdictsSectionTest, OnlyRulesThatWereNotPassed) {
  Verdict verdict = JobVerdict("a", "slower", 9);
  RuleCheck& pass = *verdict.add_checks();
  pass.set_metric("loss");
  pass.set_result("pass");
  RuleCheck& fail = *verdict.add_checks();
  fail.set_metric("tokens_per_sec_p50");
  fail.set_result("fail");
  fail.set_baseline(1000);
  fail.set_current(900);
  fail.set_worse_by(10);
  fail.set_allowed(5);
  fail.set_unit("%");
  const std::string text = PageOf({verdict});
  EXPECT_THAT(text, HasSubstr("tokens_per_sec_p50"));
  EXPECT_THAT(text, HasSubstr("10.0%"));
  EXPECT_THAT(text, Not(HasSubstr("loss")));
}

TEST(VerdictsSectionTest, TheOrderOfRecordsIsNothing) {
  std::vector<Verdict> verdicts = {JobVerdict("a", "same", 0),
                                   JobVerdict("b", "faster", -9), Suite()};
  const std::string text = PageOf(verdicts);
  std::reverse(verdicts.begin(), verdicts.end());
  EXPECT_EQ(PageOf(verdicts), text);
}

// A stored baseline has throughputs and no interval.
TEST(VerdictsSectionTest, NoIntervalIsMadeUp) {
  Verdict stored = JobVerdict("a", "slower", 20);
  stored.set_metric("throughput");
  stored.mutable_effect()->set_confidence(0);
  stored.mutable_effect()->set_a(100);
  stored.mutable_effect()->set_b(80);
  EXPECT_THAT(PageOf({stored}), HasSubstr("| +20.0% | throughput |"));
  const auto section = VerdictsSection({stored});
  for (const Block& block : section->blocks) {
    const Figure* figure = absl::get_if<Figure>(&block);
    if (figure == nullptr) continue;
    const std::string drawn =
        figure->draw(ScaleType::kLinear, kWideFigure).ToFile();
    EXPECT_THAT(drawn, HasSubstr("1.25×"));
    EXPECT_THAT(drawn, Not(HasSubstr("[1.2")));
  }
}

TEST(VerdictsSectionTest, EffectsAreDrawn) {
  const auto section = VerdictsSection({JobVerdict("a", "slower", 4.2)});
  ASSERT_TRUE(section.has_value());
  bool drawn = false;
  for (const Block& block : section->blocks) {
    const Figure* figure = absl::get_if<Figure>(&block);
    if (figure == nullptr) continue;
    drawn = true;
    EXPECT_THAT(figure->draw(ScaleType::kLinear, kWideFigure).ToFile(),
                HasSubstr("slower"));
  }
  EXPECT_TRUE(drawn);
}

}  // namespace
}  // namespace feedrate
