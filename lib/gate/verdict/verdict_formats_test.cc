#include "lib/gate/verdict/verdict_formats.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/testing_rows.h"
#include "lib/gate/verdict/ci_formats.h"
#include "lib/gate/verdict/verdicts.h"
#include "simdjson.h"

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

TEST(VerdictTableTest, EachFormatHasALinePerMetricThatMoved) {
  std::vector<Verdict> jobs = {Job("a", "same", 0), Job("b", "same", 0)};
  MetricChange* change = jobs[0].add_metrics();
  change->set_metric("memory");
  change->set_verdict("worse");
  change->set_reason("+10.00% in 20 pairs");
  change->set_unit("B");
  change->mutable_effect()->set_percent(10);
  change->mutable_effect()->set_a(1e7);
  change->mutable_effect()->set_b(1.1e7);
  *jobs[0].add_metrics() = *change;
  jobs[0].mutable_metrics(1)->set_metric("cpu");
  jobs[0].mutable_metrics(1)->set_verdict("same");
  const Verdict suite = SuiteVerdict(jobs, {});
  const std::string line =
      "memory worse: +10.00% in 20 pairs: 10.00 MB -> 11.00 MB";
  for (const std::string& text :
       {VerdictText(jobs, suite, 0), VerdictMarkdown(jobs, suite)}) {
    EXPECT_NE(text.find("memory"), std::string::npos) << text;
    EXPECT_NE(text.find("10.00 MB -> 11.00 MB"), std::string::npos) << text;
    EXPECT_EQ(text.find("cpu"), std::string::npos) << text;
  }
  // The job is not among those that are the same.
  EXPECT_NE(VerdictMarkdown(jobs, suite).find("1 job is the same"),
            std::string::npos);
  EXPECT_NE(VerdictGithub(jobs, suite).find("%0Amemory worse: +10.00%25 in"),
            std::string::npos);
  EXPECT_NE(VerdictSarif(jobs, suite).find("\\n" + line), std::string::npos);
  EXPECT_NE(VerdictJunit(jobs, suite, "now")
                .find("<system-out>memory worse: +10.00% in 20 pairs: 10.00 "
                      "MB -&gt; 11.00 MB</system-out>"),
            std::string::npos)
      << VerdictJunit(jobs, suite, "now");
}

TEST(VerdictTableTest, Counts) {
  EXPECT_EQ(CountsText(VerdictCounts()), "no jobs");
}

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
  check->set_better("lower");
  const std::string text = ExplainRules(verdict);
  EXPECT_NE(
      text.find("perplexity     20.00  21.00        +5.0% worse     1.5%"),
      std::string::npos)
      << text;
}

TEST(VerdictTextTest, StoredBaselinesHaveMetricUnitPercentAndDirection) {
  Verdict verdict;
  verdict.set_job("opencv Resize");
  verdict.set_mode("rules");
  verdict.set_verdict("slower");
  verdict.set_metric("throughput");
  verdict.set_pairs(3);
  RuleCheck* check = verdict.add_checks();
  check->set_metric("throughput");
  check->set_baseline(1000);
  check->set_current(900);
  check->set_worse_by(10);
  check->set_allowed(5);
  check->set_unit("%");
  check->set_value_unit("images/s");
  check->set_better("higher");
  check->set_chance_percent(2.5);
  Verdict suite = SuiteVerdict({verdict}, {});
  suite.set_command("micro --config=c");
  const std::string text = VerdictText({verdict}, suite, 20);
  for (const char* part :
       {"Medians of throughput (images/s) of the stored baseline and of now; "
        "chance: ",
        "1,000", "900.0", "-10.0% worse", "2.5%",
        "Measure again: micro --config=c"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  check->set_worse_by(-10);
  check->set_current(1100);
  EXPECT_NE(VerdictText({verdict}, suite, 20).find("+10.0% better"),
            std::string::npos);
  // Each job has its own where they differ.
  EXPECT_EQ(VerdictMarkdown({verdict}, suite).find("| images/s |"),
            std::string::npos);
  Verdict other = verdict;
  other.set_metric("latency_p99");
  other.mutable_checks(0)->set_metric("latency_p99");
  other.mutable_checks(0)->set_value_unit("s");
  EXPECT_NE(VerdictMarkdown({verdict, other}, suite)
                .find("| throughput | 1,000 | 1,100 | images/s |"),
            std::string::npos)
      << VerdictMarkdown({verdict, other}, suite);
}

TEST(VerdictTextTest, AReasonOfManyJobsStandsOnce) {
  std::vector<Verdict> jobs(4);
  for (int i = 0; i < 4; ++i) {
    jobs[i].set_job(absl::StrCat("job", i));
    jobs[i].set_mode("rules");
    jobs[i].set_verdict(i == 3 ? "slower" : "invalid");
    jobs[i].set_reason("there is no baseline");
  }
  const std::string text = VerdictText(jobs, SuiteVerdict(jobs, {}), 20);
  EXPECT_NE(text.find("\njob3: there is no baseline\n"
                      "job0 and 2 others: there is no baseline\n"),
            std::string::npos)
      << text;
}

TEST(VerdictGithubTest, CommandsAreEscaped) {
  std::vector<Verdict> jobs(2);
  jobs[0].set_job("a: b, c");
  jobs[0].set_verdict("slower");
  jobs[0].set_reason("5% more\n::error::forged");
  jobs[1].set_job("same");
  jobs[1].set_verdict("same");
  EXPECT_EQ(VerdictGithub(jobs, SuiteVerdict(jobs, {})),
            "::error title=a%3A b%2C c slower::5%25 more\\n::error::forged\n"
            "::error title=feedrate::1 slower, 1 same: 1 job got worse\n");
}

TEST(VerdictGithubTest, TheSuiteAloneWhenAllIsWell) {
  std::vector<Verdict> jobs(1);
  jobs[0].set_verdict("same");
  EXPECT_EQ(VerdictGithub(jobs, SuiteVerdict(jobs, {})),
            "::notice title=feedrate::1 same: nothing got slower\n");
}

TEST(VerdictSarifTest, OneResultForWhatIsNotPlainlyTheSame) {
  std::vector<Verdict> jobs(5);
  const char* words[] = {"same", "slower", "cannot_tell", "faster", "same"};
  for (int i = 0; i < 5; ++i) {
    jobs[i].set_job("job \"" + std::to_string(i));
    jobs[i].set_verdict(words[i]);
    if (i > 0) jobs[i].add_codes("memory_peak_bytes");
  }
  jobs[1].mutable_effect()->set_percent(3);
  const std::string text = VerdictSarif(jobs, SuiteVerdict(jobs, {}));
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(text).get(root), simdjson::SUCCESS) << text;
  EXPECT_EQ(std::string_view(root["version"]), "2.1.0");
  const simdjson::dom::array results =
      root["runs"].at(0)["results"].get_array();
  std::vector<std::string> levels;
  for (const auto result : results) {
    levels.emplace_back(std::string_view(result["level"]));
  }
  EXPECT_EQ(levels,
            (std::vector<std::string>{"error", "warning", "note", "warning"}));
  EXPECT_EQ(double(results.at(0)["properties"]["change_percent"]), 3);
}

TEST(VerdictJunitTest, OneCaseAJob) {
  std::vector<Verdict> jobs(4);
  const char* words[] = {"same", "slower", "cannot_tell", "invalid"};
  for (int i = 0; i < 4; ++i) {
    jobs[i].set_job("j<" + std::to_string(i));
    jobs[i].set_verdict(words[i]);
    jobs[i].set_mode("paired");
    jobs[i].set_reason("a & b");
  }
  const std::string xml =
      VerdictJunit(jobs, SuiteVerdict(jobs, {}), "2026-01-02T03:04:05");
  for (const char* part :
       {"tests=\"4\" failures=\"1\" errors=\"0\"", "skipped=\"2\"",
        "name=\"j&lt;0\" classname=\"feedrate.paired\" time=\"0.000000000\"/>",
        "<failure message=\"a &amp; b\"", "<skipped message=\"a &amp; b\"/>",
        "timestamp=\"2026-01-02T03:04:05\""}) {
    EXPECT_NE(xml.find(part), std::string::npos) << part << "\n" << xml;
  }
}

// It was 0, the fastest of all.
TEST(VerdictJunitTest, SecondsThatAreNotFiniteAreNoTime) {
  std::vector<Verdict> jobs(1);
  jobs[0].set_verdict("invalid");
  jobs[0].set_mode("paired");
  jobs[0].set_metric("time");
  jobs[0].mutable_effect()->set_b(std::numeric_limits<double>::infinity());
  const auto xml = [&] {
    return VerdictJunit(jobs, SuiteVerdict(jobs, {}), "2026-01-02T03:04:05");
  };
  EXPECT_EQ(xml().find("feedrate.paired\" time="), std::string::npos) << xml();
  jobs[0].mutable_effect()->set_b(2);
  EXPECT_NE(xml().find("feedrate.paired\" time=\"2.0"), std::string::npos);
}

// A pull request that cannot be judged has not failed.
TEST(VerdictMarkdownTest, TheSignIsThatOfTheExitCode) {
  const auto sign = [](const char* word) {
    std::vector<Verdict> jobs(1);
    jobs[0].set_verdict(word);
    return VerdictMarkdown(jobs, SuiteVerdict(jobs, {})).substr(4, 3);
  };
  EXPECT_EQ(sign("same"), "✅");
  EXPECT_EQ(sign("cannot_tell"), std::string("⚠️").substr(0, 3));
  EXPECT_EQ(sign("slower"), "❌");
  EXPECT_EQ(sign("invalid"), "❌");
}

// All formats call the same jobs errors: those that the exit code is about.
TEST(VerdictFormatsTest, FormatsAgreeAboutWhatWasNotCompared) {
  std::vector<Verdict> jobs(3);
  for (Verdict& job : jobs) {
    job.set_job("j");
    job.set_verdict("same");
  }
  jobs[2].set_verdict("invalid");
  jobs[2].add_codes(kCodeNoBaseline);
  const auto errors = [&jobs] {
    const Verdict suite = SuiteVerdict(jobs, {});
    const std::string junit = VerdictJunit(jobs, suite, "");
    const std::string sarif = VerdictSarif(jobs, suite);
    const std::string github = VerdictGithub(jobs, suite);
    const bool has = junit.find("<error") != junit.npos;
    EXPECT_EQ(sarif.find("\"level\":\"error\"") != sarif.npos, has);
    EXPECT_EQ(github.find("::error title=j") != github.npos, has);
    EXPECT_EQ(suite.exit_code() != 0, has);
    return has;
  };
  EXPECT_FALSE(errors());
  jobs[1] = jobs[2];
  EXPECT_TRUE(errors());
}

}  // namespace
}  // namespace feedrate
