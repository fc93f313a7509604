#include "lib/analysis/report/make_report.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/comparison_sections.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/setting_section.h"
#include "lib/analysis/testing/rows.h"
#include "lib/base/files.h"
#include "lib/base/tool/exit_code.h"
#include "lib/draw/document.h"
#include "lib/records/json.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<Row> Runs(const std::string& library, const std::string& transform,
                      double throughput) {
  std::vector<Row> rows;
  for (int i = 0; i < 3; ++i) {
    rows.push_back(
        MakeRow(library, transform, throughput * (1 + 0.001 * i), i));
  }
  return rows;
}

std::vector<Row> Together(const std::vector<std::vector<Row>>& parts) {
  std::vector<Row> rows;
  for (const auto& part : parts) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

std::vector<std::string> TitlesOf(const ReportInput& input) {
  std::vector<std::string> titles;
  for (const Section& section : BuildReport(input, {}).sections) {
    if (section.level == 1) titles.push_back(section.id);
  }
  return titles;
}

TEST(ReportTest, PipelinesComeBeforeMicro) {
  ReportInput input;
  input.rows = Together({Runs("a", "Blur", 100), Runs("b", "Blur", 50)});
  Row pipeline = MakeRow("a", "Blur", 10);
  pipeline.set_job_id("p");
  pipeline.set_mode("pipeline");
  input.rows.push_back(pipeline);
  EXPECT_THAT(TitlesOf(input),
              ElementsAre("summary", "pipelines", "micro", "noise"));
}

TEST(ReportTest, LoadersSayWhereTheirTimeGoes) {
  ReportInput input;
  Row row = MakeRow("native", "Blur", 10);
  row.set_mode("pipeline");
  row.set_workers(2);
  LoaderStats* const loader = row.mutable_loader();
  loader->set_startup_s(0.0125);
  loader->set_worker_efficiency(0.75);
  for (const char* name : {"read", "decode"}) {
    LoaderStage* const stage = loader->add_stages();
    stage->set_name(name);
    stage->set_busy_s(name[0] == 'r' ? 1 : 3);
  }
  loader->mutable_diagnosis()->set_verdict("decoding");
  loader->mutable_diagnosis()->set_explanation("decoding takes 80%");
  input.rows = {row};
  const std::string text = ToMarkdown(BuildReport(input, {}), "");
  EXPECT_THAT(text, HasSubstr("native, Blur, workers 2"));
  EXPECT_THAT(text, HasSubstr("12.5"));
  EXPECT_THAT(text, HasSubstr("75%"));
  EXPECT_THAT(text, HasSubstr("25%"));
  EXPECT_THAT(text, HasSubstr("decoding takes 80%"));
}

TEST(ReportTest, FailuresAreListedAndNeverAveraged) {
  ReportInput input;
  input.rows = Runs("a", "Blur", 100);
  input.rows.push_back(MakeRow("b", "Blur", 77777));
  input.rows.back().set_status("failed");
  input.rows.back().set_reason("it broke");
  const std::string text = ToMarkdown(BuildReport(input, {}), "");
  EXPECT_THAT(text, HasSubstr("it broke"));
  EXPECT_EQ(text.find("77,777"), std::string::npos);
}

TEST(ReportTest, NothingIsMixed) {
  std::vector<Row> rows =
      Together({Runs("a", "Blur", 100), Runs("a", "Blur", 200)});
  for (int i = 3; i < 6; ++i) rows[i].set_machine_profile("other");
  EXPECT_EQ(CellsOf(rows).size(), 2u);
  for (int i = 3; i < 6; ++i) {
    rows[i].set_machine_profile("machine");
    rows[i].set_library_version("2.0");
  }
  EXPECT_EQ(CellsOf(rows).size(), 2u);
}

TEST(ReportTest, SpeedUpsNeedTheSameWork) {
  std::vector<Row> rows =
      Together({Runs("a", "Blur", 100), Runs("a", "Flip", 100),
                Runs("b", "Blur", 300), Runs("b", "Flip", 50)});
  for (int i = 9; i < 12; ++i) {
    rows[i].mutable_equivalence()->set_label("different");
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  const auto strict = SpeedUpsOf(settings[0], "a", false);
  ASSERT_EQ(strict->libraries.size(), 1u);
  EXPECT_EQ(strict->libraries[0].lines.size(), 1u);
  EXPECT_NEAR(strict->libraries[0].mean.value, 3, 1e-9);
  EXPECT_TRUE(strict->libraries[0].lines[0].ratio.whiskers.has_value());
  EXPECT_EQ(strict->left_out, 1);
  EXPECT_EQ(SpeedUpsOf(settings[0], "a", true)->left_out, 0);
  EXPECT_FALSE(SpeedUpsOf(settings[0], "nosuch", true).has_value());
}

TEST(ReportTest, SweepsAreFoundAndSortedAsNumbers) {
  std::vector<Row> rows;
  for (const int workers : {10, 2, 0}) {
    rows.push_back(MakeRow("a", "Blur", 100 + workers));
    rows.back().set_workers(workers);
    rows.back().set_job_id("w" + std::to_string(workers));
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_THAT(settings[0].swept, ElementsAre("workers"));
  ASSERT_EQ(settings[0].lines.size(), 3u);
  EXPECT_EQ(settings[0].lines[1].Name(), "Blur, workers=2");
  EXPECT_EQ(settings[0].lines[2].Name(), "Blur, workers=10");
}

TEST(ChangesTest, OnlyIntervalsMakeAChange) {
  const auto word = [](const std::vector<Row>& before,
                       const std::vector<Row>& now) {
    const auto old_cells = CellsOf(before);
    const auto new_cells = CellsOf(now);
    return ChangesBetween(old_cells, new_cells).changes.at(0).word;
  };
  EXPECT_EQ(word(Runs("a", "Blur", 100), Runs("a", "Blur", 200)), "faster");
  EXPECT_EQ(word(Runs("a", "Blur", 200), Runs("a", "Blur", 100)), "slower");
  EXPECT_EQ(word(Runs("a", "Blur", 100), Runs("a", "Blur", 100)), "not shown");
  EXPECT_EQ(word({MakeRow("a", "Blur", 1)}, {MakeRow("a", "Blur", 9)}),
            "cannot tell");
}

TEST(ChangesTest, OtherMachinesAreNotCompared) {
  std::vector<Row> other = Runs("a", "Blur", 100);
  for (Row& row : other) row.set_machine_profile("other");
  const auto before = CellsOf(other);
  const auto now = CellsOf(Runs("a", "Blur", 100));
  const Changes changes = ChangesBetween(before, now);
  EXPECT_TRUE(changes.changes.empty());
  EXPECT_EQ(changes.only_now, 1);
  EXPECT_EQ(changes.only_before, 1);
}

class MakeReportTest : public ::testing::Test {
 protected:
  MakeReportTest() {
    std::string text;
    for (const char* library : {"a", "b"}) {
      for (int run = 0; run < 3; ++run) {
        const double speed = *library == 'a' ? 100 : 200;
        AppendRecord(MakeRow(library, "Blur", speed + run, run), &text);
      }
    }
    request_.paths = {Written("rows.jsonl", text)};
    request_.warn = [this](const std::string& text) {
      warnings_.push_back(text);
    };
  }

  static std::string Path(const std::string& name) {
    return JoinPath(::testing::TempDir(), name);
  }
  static std::string Written(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(Path(name), text).ok());
    return Path(name);
  }
  ExitCode Make() {
    out_.str("");
    const auto code = MakeReport(request_, out_);
    EXPECT_TRUE(code.ok()) << code.status();
    return code.value_or(ExitCode::kRunFailed);
  }

  ReportRequest request_;
  std::ostringstream out_;
  std::vector<std::string> warnings_;
};

TEST_F(MakeReportTest, APageGoesToStandardOutput) {
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(MakeReportTest, APageGoesToAFile) {
  request_.output = Path("page.html");
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(*ReadFile(request_.output), StartsWith("<!DOCTYPE html>"));
}

TEST_F(MakeReportTest, MarkdownInstead) {
  request_.markdown = true;
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), StartsWith("# "));
  EXPECT_THAT(out_.str(), Not(HasSubstr("<html")));
}

TEST_F(MakeReportTest, FiguresAloneWriteNoPage) {
  request_.svg_folder = Path("figures");
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_EQ(out_.str(), "");
  const auto files = ListFiles(request_.svg_folder, ".svg", false);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(*files, Not(IsEmpty()));
  EXPECT_THAT(*ReadFile((*files)[0]), HasSubstr("<svg"));
}

// A `/` in the name of a swept setting used to be a folder that is not there.
TEST_F(MakeReportTest, NamesOfFiguresAreNamesOfFiles) {
  std::string text;
  for (const std::string& transform :
       {std::string("../Blur"), std::string("Blur\x1B"), std::string("日本"),
        std::string(1000, 'x')}) {
    for (const char* value : {"1", "2", "nan", "1e400"}) {
      Row row = MakeRow("kornia", transform, 100);
      (*row.mutable_settings())["a/b"] = value;
      row.set_job_id(absl::StrCat(transform, value));
      AppendRecord(row, &text);
    }
  }
  request_.paths = {Written("swept.jsonl", text)};
  request_.svg_folder = Path("swept");
  EXPECT_EQ(Make(), ExitCode::kDone);
  int curves = 0;
  const std::vector<std::string> files =
      *ListFiles(request_.svg_folder, ".svg", /*recursive=*/true);
  for (const std::string& file : files) {
    const std::string name = file.substr(file.rfind('/') + 1);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_."),
              std::string::npos)
        << name;
    curves +=
        absl::StrContains(name, "-by-a-b") && !absl::StrContains(name, "-log");
  }
  EXPECT_EQ(curves, 4);
}

TEST_F(MakeReportTest, AFontThatIsNoneIsNamed) {
  request_.svg_folder = Path("figures");
  request_.svg_font = Written("font.ttf", "no font");
  const auto code = MakeReport(request_, out_);
  EXPECT_EQ(code.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(code.status().message()), HasSubstr("font.ttf"));
}

TEST_F(MakeReportTest, ClaimsThatFollowAndThatDoNot) {
  const std::string claim =
      "x <!-- rows: ratio(throughput, library==\"b\", library==\"a\") -->\n";
  request_.claims = Written("good.md", "It is 2.0" + claim);
  EXPECT_EQ(Make(), ExitCode::kDone);
  request_.claims = Written("bad.md", "It is 2.4" + claim);
  EXPECT_EQ(Make(), ExitCode::kCheckSaidNo);
  EXPECT_THAT(out_.str(), HasSubstr("bad.md:1: 2.4"));
  request_.claims = Written("none.md", "No numbers.\n");
  EXPECT_EQ(Make(), ExitCode::kInvalid);
}

TEST_F(MakeReportTest, ClaimsAndAPageDoNotShareStandardOutput) {
  request_.claims = Written("claims.md", "1\n");
  request_.output = "-";
  EXPECT_EQ(MakeReport(request_, out_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(MakeReportTest, TargetsDecideTheExitCode) {
  const auto target = [](const std::string& expression, const char* bound) {
    return "targets { name: \"t\" value: '" + expression + "' " + bound +
           " remedy: \"r\" needs: \"n\" }\n";
  };
  request_.targets =
      Written("met.textproto", target("median(throughput)", "min: 1"));
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("✓"));
  request_.targets =
      Written("missed.textproto", target("median(throughput)", "min: 1e9"));
  EXPECT_EQ(Make(), ExitCode::kCheckSaidNo);
  EXPECT_THAT(out_.str(), HasSubstr("✗"));
  request_.targets =
      Written("unknown.textproto",
              target("median(throughput, mode == \"train\")", "min: 1"));
  EXPECT_EQ(Make(), ExitCode::kCannotTell);
}

TEST_F(MakeReportTest, ABaselineWithNothingInCommonIsInvalid) {
  std::string text;
  AppendRecord(MakeRow("other", "Flip", 1), &text);
  request_.baseline = Written("baseline.jsonl", text);
  EXPECT_EQ(Make(), ExitCode::kInvalid);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("nothing is comparable")));
  request_.baseline = request_.paths[0];
  EXPECT_EQ(Make(), ExitCode::kDone);
}

TEST_F(MakeReportTest, VerdictsAloneAreAReport) {
  Verdict verdict;
  verdict.set_scope("suite");
  verdict.set_verdict("same");
  std::string text;
  AppendRecord(verdict, &text);
  request_.paths = {Written("verdicts.jsonl", text)};
  request_.markdown = true;
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("All jobs: same."));
}

TEST_F(MakeReportTest, NoRowsIsInvalidNoPathAMistake) {
  request_.paths = {Written("empty.jsonl", "")};
  EXPECT_EQ(Make(), ExitCode::kInvalid);
  request_.paths = {};
  EXPECT_EQ(MakeReport(request_, out_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(MakeReportTest, MixturesGetFiguresAndASummary) {
  std::string text;
  AppendRecord(MakeMixtureRow({{"a", 0.5}, {"b", 0.5}}), &text);
  for (int i = 0; i < 20; ++i) {
    AppendRecord(MakeBatch(i, {{"a", 5}, {"b", 3}}), &text);
  }
  request_.paths = {Written("mixture.jsonl", text)};
  request_.svg_folder = Path("mixture");
  EXPECT_EQ(Make(), ExitCode::kDone);
  for (const char* name :
       {"mixture_over_time.svg", "mixture_windows_every_stride.svg"}) {
    const auto svg = ReadFile(JoinPath(request_.svg_folder, name));
    ASSERT_TRUE(svg.ok()) << svg.status();
    EXPECT_THAT(*svg, HasSubstr("batch 3, a: 62.5%"));
  }
  const auto summary =
      ReadFile(JoinPath(request_.svg_folder, "mixture_summary.txt"));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_THAT(*summary, HasSubstr("640 samples/s"));
}

TEST_F(MakeReportTest, BatchesAloneAreSomethingToLookAt) {
  std::string text;
  AppendRecord(MakeBatch(0, {{"a", 5}, {"b", 3}}), &text);
  request_.paths = {Written("batches.jsonl", text)};
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_THAT(out_.str(), HasSubstr("How mixtures mix"));
}

TEST_F(MakeReportTest, WithoutBatchesThereIsNoSummary) {
  request_.svg_folder = Path("no_mixture");
  EXPECT_EQ(Make(), ExitCode::kDone);
  EXPECT_FALSE(
      ReadFile(JoinPath(request_.svg_folder, "mixture_summary.txt")).ok());
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

std::string TextOf(std::vector<Verdict> verdicts) {
  Document document;
  const auto section = VerdictsSection(std::move(verdicts));
  if (section.has_value()) document.sections.push_back(*section);
  return ToMarkdown(document, "");
}

TEST(VerdictsSectionTest, NoneWithoutVerdicts) {
  EXPECT_FALSE(VerdictsSection({}).has_value());
}

TEST(VerdictsSectionTest, TheSuiteComesFirstThenWhatIsSlower) {
  const std::string text = TextOf(
      {JobVerdict("a", "same", 0.1), JobVerdict("b", "slower", 4.2), Suite()});
  EXPECT_THAT(text, HasSubstr("All jobs: slower; 1 slower, 2 same; one job is "
                              "slower; exit 3."));
  EXPECT_LT(text.find("All jobs"), text.find("| b "));
  EXPECT_LT(text.find("| b "), text.find("| a "));
  EXPECT_THAT(text, HasSubstr("+4.2%"));
  EXPECT_THAT(text, HasSubstr("[+3.2%, +5.2%]"));
}

TEST(VerdictsSectionTest, CodesReasonsAndCommandsAreShown) {
  Verdict crashed = JobVerdict("a", "invalid", 0);
  crashed.clear_effect();
  crashed.add_codes("crashed");
  crashed.add_codes("too_few");
  crashed.set_reason("b crashed in pair 3");
  crashed.set_command("duel --a=x --b=y");
  const std::string text = TextOf({crashed});
  EXPECT_THAT(text, HasSubstr("crashed, too_few"));
  EXPECT_THAT(text, HasSubstr("b crashed in pair 3"));
  EXPECT_THAT(text, HasSubstr("duel --a=x --b=y"));
  EXPECT_THAT(text, HasSubstr("–"));
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
  const std::string text = TextOf({verdict});
  EXPECT_THAT(text, HasSubstr("tokens_per_sec_p50"));
  EXPECT_THAT(text, HasSubstr("10.0%"));
  EXPECT_THAT(text, Not(HasSubstr("loss")));
}

TEST(VerdictsSectionTest, TheOrderOfRecordsIsNothing) {
  std::vector<Verdict> verdicts = {JobVerdict("a", "same", 0),
                                   JobVerdict("b", "faster", -9), Suite()};
  const std::string text = TextOf(verdicts);
  std::reverse(verdicts.begin(), verdicts.end());
  EXPECT_EQ(TextOf(verdicts), text);
}

TEST(VerdictsSectionTest, EffectsAreDrawn) {
  const auto section = VerdictsSection({JobVerdict("a", "slower", 4.2)});
  ASSERT_TRUE(section.has_value());
  bool drawn = false;
  for (const Block& block : section->blocks) {
    const Figure* figure = absl::get_if<Figure>(&block);
    if (figure == nullptr) continue;
    drawn = true;
    EXPECT_THAT(figure->draw(ScaleType::kLinear, kWideFigure).ToFile(nullptr),
                HasSubstr("slower"));
  }
  EXPECT_TRUE(drawn);
}

}  // namespace
}  // namespace feedrate
