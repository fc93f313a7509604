#include "lib/analysis/aggregate/aggregate_table.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate/aggregate_records.h"
#include "lib/analysis/aggregate/cell_texts.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/aggregate/grid.h"
#include "lib/draw/text.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Aggregate Make(const std::string& library, const std::string& batch,
               double median) {
  Aggregate aggregate;
  (*aggregate.mutable_by())["library"] = library;
  (*aggregate.mutable_by())["batch_size"] = batch;
  (*aggregate.mutable_held())["machine_profile"] = "m";
  aggregate.set_status("ok");
  aggregate.set_runs(3);
  aggregate.set_unit("image");
  aggregate.set_median(median);
  aggregate.set_cv(0.012);
  aggregate.set_equivalence("exact");
  aggregate.mutable_interval()->set_low(median * 0.9);
  aggregate.mutable_interval()->set_high(median * 1.1);
  return aggregate;
}

AggregateResult Four() {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100), Make("a", "10", 300),
                       Make("b", "2", 200), Make("b", "10", 150)};
  result.aggregates[2].set_rank(1);
  result.aggregates[2].set_rank_of(2);
  result.aggregates[2].set_fastest(true);
  result.aggregates[0].set_rank(2);
  result.aggregates[0].set_rank_of(2);
  for (const size_t tied : {1, 3}) {
    result.aggregates[tied].set_rank_of(2);
    result.aggregates[tied].set_tied(true);
    result.aggregates[tied].set_rival(tied == 1 ? "b" : "a");
    result.aggregates[tied].set_evidence("few_runs");
    result.aggregates[tied].set_runs_needed(3);
  }
  return result;
}

const std::vector<std::string>& By() {
  static const auto* const kBy =
      new std::vector<std::string>{"library", "batch_size"};
  return *kBy;
}

std::vector<std::string> TextsOf(const std::vector<GridCell>& cells) {
  std::vector<std::string> texts;
  for (const GridCell& cell : cells) texts.push_back(cell.text);
  return texts;
}

TEST(PlainGridTest, OneLineForEachGroup) {
  const Grid grid = PlainGrid(Four(), By());
  EXPECT_THAT(TextsOf(grid.header),
              ElementsAre("library", "batch_size", "n", "median (images/s)",
                          "95% interval", "cv", "rank", "notes"));
  EXPECT_THAT(grid.caption,
              ElementsAre("Median throughput in images/s; ranks compare "
                          "libraries of the same batch_size",
                          "machine m"));
  ASSERT_THAT(grid.rows, SizeIs(4));
  EXPECT_THAT(TextsOf(grid.rows[0]),
              ElementsAre("a", "2", "3", "100.0", "[90.00, 110.0]", "1.2%",
                          "2 of 2", ""));
  EXPECT_THAT(TextsOf(grid.rows[1]),
              ElementsAre("a", "10", "3", "300.0", "[270.0, 330.0]", "1.2%",
                          "tied", "tied with b; 3 runs would show the spread"));
}

TEST(PlainGridTest, DisturbedRunsAreNoTie) {
  AggregateResult result = Four();
  result.aggregates[1].set_evidence("disturbed");
  const std::vector<std::string> texts =
      TextsOf(PlainGrid(result, By()).rows[1]);
  EXPECT_EQ(texts[6], "disturbed");
  EXPECT_THAT(texts[7], HasSubstr("disturbed runs are no evidence"));
}

TEST(PlainGridTest, OneLibraryIsNotRanked) {
  AggregateResult result = Four();
  result.aggregates.push_back(Make("c", "2", 10));
  result.aggregates.back().set_equivalence("different");
  EXPECT_EQ(PlainGrid(result, By()).rows[4].back().text,
            "not ranked: output is different");
  result.aggregates.erase(result.aggregates.begin(),
                          result.aggregates.end() - 1);
  EXPECT_EQ(PlainGrid(result, By()).rows[0].back().text, "output is different");
}

TEST(PlainGridTest, NumbersStandOnTheRight) {
  const Grid grid = PlainGrid(Four(), By());
  EXPECT_FALSE(grid.rows[0][0].right_aligned);
  EXPECT_TRUE(grid.rows[0][1].right_aligned);
}

TEST(PlainGridTest, OnlyAProvedWinnerIsBold) {
  const Grid grid = PlainGrid(Four(), By());
  EXPECT_FALSE(grid.rows[0][3].best);
  EXPECT_FALSE(grid.rows[1][3].best) << "tied";
  EXPECT_TRUE(grid.rows[2][3].best);
  EXPECT_FALSE(grid.rows[3][3].best);
}

TEST(PlainGridTest, ConstantColumnsAreInTheCaption) {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100), Make("b", "2", 300)};
  const Grid grid = PlainGrid(result, By());
  EXPECT_EQ(grid.header[0].text, "library");
  EXPECT_EQ(grid.header[1].text, "n");
  EXPECT_THAT(grid.caption, ElementsAre("Median throughput in images/s",
                                        "batch_size 2, machine m"));
}

TEST(PlainGridTest, WhatKeepsGroupsFromBeingComparedHasAColumn) {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100), Make("b", "2", 300)};
  (*result.aggregates[0].mutable_held())["workers"] = "1";
  (*result.aggregates[1].mutable_held())["workers"] = "4";
  EXPECT_EQ(PlainGrid(result, By()).header[1].text, "workers");
}

TEST(PlainGridTest, NoisePoolingAndEarlierAttemptsAreStated) {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100), Make("b", "2", 300)};
  result.aggregates[0].set_disturbed(2);
  EarlierAttempt& earlier = *result.aggregates[0].add_earlier_attempts();
  earlier.set_last(2);
  earlier.set_runs(1);
  (*result.aggregates[1].mutable_pooled())["transform"] = 8;
  const Grid grid = PlainGrid(result, By());
  EXPECT_EQ(grid.header[5].text, "disturbed");
  EXPECT_EQ(grid.rows[0][5].text, "2 of 3");
  EXPECT_EQ(grid.rows[1][5].text, "");
  EXPECT_EQ(grid.rows[0].back().text,
            "attempt 0 counts, not 2, which was less clean");
  EXPECT_EQ(grid.caption.back(),
            "Pooled on request, different work in one number: transform (up to "
            "8 values per group)");
}

// "1 of 3 tied" beside intervals that are far apart misleads.
TEST(PlainGridTest, ARankSaysWhyItIsNotSeparate) {
  AggregateResult result;
  for (const char* evidence : {"tied", "few_runs", "disturbed", ""}) {
    Aggregate& one = result.aggregates.emplace_back(
        Make(absl::StrCat("l", evidence), "2", 100));
    one.set_rank(1);
    one.set_rank_of(3);
    one.set_tied(*evidence != '\0');
    one.set_evidence(evidence);
  }
  const Grid grid = PlainGrid(result, By());
  ASSERT_EQ(grid.header[5].text, "rank");
  EXPECT_EQ(grid.rows[0][5].text, "1 of 3 tied");
  EXPECT_EQ(grid.rows[1][5].text, "1 of 3, few runs");
  EXPECT_EQ(grid.rows[2][5].text, "1 of 3, disturbed");
  EXPECT_EQ(grid.rows[3][5].text, "1 of 3");
}

TEST(PivotGridTest, FootnotesSayWhoseOutputIsWrongAndWhatQualifiesSpeeds) {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100), Make("b", "2", 300)};
  result.aggregates[0].set_equivalence("different");
  result.aggregates[1].set_equivalence("exact");
  result.aggregates[1].add_flags("per_sample_loop");
  const auto grid = PivotGrid(result, By(), "library");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(grid->rows[0][1].text, "100.0!");
  EXPECT_EQ(grid->rows[0][2].text, "300.0+");
  EXPECT_THAT(grid->footnotes,
              ElementsAre("! output differs from the reference (different)",
                          "+ called sample by sample (per_sample_loop)"));
  EXPECT_THAT(RenderLatex(*grid),
              HasSubstr("\\footnotesize\n! output differs from the reference"));
  EXPECT_THAT(RenderMarkdown(*grid), HasSubstr("100.0! "));
  EXPECT_THAT(PlainGrid(result, By()).rows[0].back().text,
              HasSubstr("output is different"));
}

TEST(PlainGridTest, HarnessCostIsANote) {
  AggregateResult result = Four();
  result.harness = {Make("null", "2", 2e6), Make("null", "10", 1e6)};
  EXPECT_THAT(PlainGrid(result, By()).notes,
              ElementsAre("harness cost (null rows): 0.5 to 1.000 µs per "
                          "image, 6 runs"));
}

TEST(SplitByUnitTest, EachTableHasOneUnit) {
  AggregateResult result = Four();
  result.aggregates[1].set_unit("clip");
  result.means.emplace_back();
  const std::vector<AggregateResult> parts = SplitByUnit(result);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].aggregates.size(), 1u);
  EXPECT_EQ(PlainGrid(parts[0], By()).caption[0],
            "Median throughput in clips/s; ranks compare libraries");
  EXPECT_TRUE(parts[0].means.empty());
  EXPECT_EQ(parts[1].means.size(), 1u);
}

TEST(SplitBySuiteTest, EachTableHasOneScenarioModeAndScope) {
  AggregateResult result = Four();
  EXPECT_THAT(SplitBySuite(result), SizeIs(1));
  for (size_t i = 0; i < 4; ++i) {
    (*result.aggregates[i].mutable_by())["mode"] = i == 2 ? "micro" : "train";
    (*result.aggregates[i].mutable_by())["scope"] = i == 3 ? "e2e" : "step";
  }
  result.means.emplace_back();
  const std::vector<AggregateResult> parts = SplitBySuite(result);
  ASSERT_THAT(parts, SizeIs(3));
  EXPECT_THAT(parts[0].aggregates, SizeIs(2));
  EXPECT_EQ(parts[1].aggregates[0].by().at("mode"), "micro");
  EXPECT_EQ(parts[2].aggregates[0].by().at("scope"), "e2e");
  EXPECT_THAT(parts[0].means, SizeIs(0));
  EXPECT_THAT(parts[2].means, SizeIs(1));
  (*result.aggregates[1].mutable_by())["scenario"] = "image-9ch";
  EXPECT_THAT(SplitBySuite(result), SizeIs(4));
}

TEST(PlainGridTest, WhatDidNotRunSaysWhy) {
  AggregateResult result;
  Aggregate& slow = result.aggregates.emplace_back();
  (*slow.mutable_by())["library"] = "a";
  slow.set_status("early_stopped");
  slow.set_slow_marker("<=20 img/s");
  Aggregate& failed = result.aggregates.emplace_back();
  (*failed.mutable_by())["library"] = "b";
  failed.set_status("failed");
  failed.set_retries(2);
  EndedRuns& ended = *failed.add_ended();
  ended.set_status("oom");
  ended.set_reason("8 GiB");
  ended.set_runs(3);
  const Grid grid = PlainGrid(result, {"library"});
  EXPECT_EQ(grid.rows[0][2].text, "<=20 img/s");
  EXPECT_EQ(grid.rows[1][2].text, "failed");
  EXPECT_EQ(grid.rows[1].back().text, "3 oom: 8 GiB; 2 retries");
}

TEST(PivotGridTest, ColumnsAreValuesInTheirOrder) {
  const auto grid = PivotGrid(Four(), By(), "batch_size");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_THAT(TextsOf(grid->header), ElementsAre("library", "2", "10"));
  EXPECT_THAT(TextsOf(grid->rows[0]), ElementsAre("a", "100.0", "300.0"));
}

TEST(PivotGridTest, HolesStayEmptyAndUnstableOnesAreMarked) {
  AggregateResult result = Four();
  result.aggregates.pop_back();
  result.aggregates[0].add_flags("unstable");
  result.aggregates[1].set_disturbed(1);
  const auto grid = PivotGrid(result, By(), "library");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_THAT(TextsOf(grid->rows[0]), ElementsAre("2", "100.0~", "200.0"));
  EXPECT_THAT(TextsOf(grid->rows[1]), ElementsAre("10", "300.0*", ""));
  EXPECT_THAT(
      grid->footnotes,
      ElementsAre("~ unstable", "* has noisy, contended or throttled runs"));
}

TEST(PivotGridTest, RatiosAndMediansDoNotMeetInAColumn) {
  AggregateResult result = Four();
  for (Aggregate& aggregate : result.aggregates) {
    aggregate.mutable_speed_up()->set_relative_to("a");
    aggregate.mutable_speed_up()->set_reason("a is different");
  }
  SpeedUp& ratio = *result.aggregates[2].mutable_speed_up();
  ratio.clear_reason();
  ratio.set_ratio(2);
  ratio.set_low(1.5);
  ratio.set_high(2.5);
  ratio.set_evidence("separate");
  result.aggregates[3].clear_speed_up();
  *result.aggregates[3].mutable_speed_up() = ratio;
  result.aggregates[3].mutable_speed_up()->set_evidence("tied");
  const auto grid = PivotGrid(result, By(), "library");
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_THAT(TextsOf(grid->rows[0]),
              ElementsAre("2", "no ratio", "2.00x [1.50, 2.50]"));
  EXPECT_THAT(TextsOf(grid->rows[1]),
              ElementsAre("10", "no ratio", "tied [1.50, 2.50]"));
  EXPECT_THAT(grid->caption[0],
              HasSubstr("Speed-up over a (ratio of median throughputs)"));
}

TEST(PivotGridTest, RefusesToSetMachinesSideBySide) {
  AggregateResult result = Four();
  (*result.aggregates[2].mutable_held())["machine_profile"] = "other";
  const auto grid = PivotGrid(result, By(), "library");
  EXPECT_EQ(grid.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(grid.status().message()),
              HasSubstr("--mix=machine_profile"));
}

TEST(PivotGridTest, RefusesAFieldThatIsNotInBy) {
  EXPECT_EQ(PivotGrid(Four(), By(), "librray").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(FullGridTest, EveryNumberInFull) {
  AggregateResult result;
  result.aggregates = {Make("a", "2", 100.123456789)};
  const Grid grid = FullGrid(result, By());
  ASSERT_EQ(grid.rows[0].size(), grid.header.size());
  EXPECT_THAT(TextsOf(grid.rows[0]), ::testing::Contains("100.123456789"));
}

TEST(FourDigitsTextTest, FourDigitsOrSo) {
  EXPECT_EQ(FourDigitsText(123456), "123456");
  EXPECT_EQ(FourDigitsText(123.456), "123.5");
  EXPECT_EQ(FourDigitsText(12.3456), "12.35");
  EXPECT_EQ(FourDigitsText(1.23456), "1.235");
  EXPECT_EQ(FourDigitsText(0.0012345), "0.00123");
  EXPECT_EQ(FourDigitsText(0), "0");
}

Grid Example() {
  Grid grid;
  grid.header = {{"transform", false, false}, {"median", false, true}};
  grid.rows = {{{"A|B_1", false, false}, {"12", true, true}},
               {{"quote \"x\", y\nz", false, false}, {"3", false, true}}};
  grid.caption = {"all of it"};
  grid.notes = {"a note"};
  return grid;
}

TEST(RenderTableTest, BestIsBoldAndGreenOnlyInColor) {
  EXPECT_THAT(RenderTable(Example(), true), HasSubstr("\x1B[1;32m12\x1B[0m"));
  EXPECT_THAT(RenderTable(Example(), false), Not(HasSubstr("\x1B")));
}

TEST(RenderTableTest, WithoutColorAMarkShowsTheBest) {
  Grid grid = Example();
  EXPECT_THAT(RenderTable(grid, false), Not(HasSubstr("^")));
  grid.best_means = "fastest";
  EXPECT_THAT(RenderTable(grid, false),
              AllOf(HasSubstr("all of it; ^: fastest\n"), HasSubstr("12^\n")));
  EXPECT_THAT(
      RenderTable(grid, true),
      AllOf(HasSubstr("all of it; bold: fastest\n"), Not(HasSubstr("^"))));
}

TEST(RenderTableTest, NoBrokenLineStartsWithACommand) {
  Grid grid = Example();
  const std::string words(110, 'x');
  grid.caption = {absl::StrCat(words, " ::stop-commands::a")};
  grid.notes = {absl::StrCat(words, " ::error::b"),
                absl::StrCat(words, " $ ::error::c")};
  for (const absl::string_view line :
       absl::StrSplit(RenderTable(grid, false), '\n')) {
    EXPECT_FALSE(
        absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "::"))
        << line;
  }
}

TEST(RenderTableTest, FitsInto120Columns) {
  Grid grid;
  grid.key_columns = 1;
  grid.header = {{"transform", false, false}};
  grid.rows = {{{"Blur", false, false}}};
  for (int i = 0; i < 9; ++i) {
    grid.header.push_back(
        {absl::StrCat("a_long_library_name_", i), false, true});
    grid.rows[0].push_back({absl::StrCat(i), false, true});
  }
  grid.notes = {absl::StrCat("because ", std::string(70, 'x'), " and ",
                             std::string(70, 'y'), " $ run ",
                             std::string(130, 'z'))};
  Grid noted = Example();
  noted.header.push_back({"notes", false, false});
  noted.rows[0].push_back(
      {absl::StrCat(std::string(60, 'n'), " ", std::string(60, 'm')), false,
       false});
  noted.rows[1].push_back({"", false, false});
  for (const std::string& text :
       {RenderTable(grid, false), RenderTable(noted, false)}) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      // A command is not broken, so that it can be copied.
      if (absl::StartsWith(line, "  $ ")) continue;
      EXPECT_LE(DisplayWidth(line), 120u) << line;
    }
  }
  EXPECT_THAT(RenderTable(grid, false), HasSubstr("a_long_library_name_8"));
  EXPECT_THAT(RenderTable(noted, false), HasSubstr("12  [1]\n"));
  EXPECT_THAT(RenderTable(noted, false), HasSubstr("\n[1] nnn"));
}

TEST(RenderTableTest, AlignmentIgnoresColor) {
  std::string color = RenderTable(Example(), true);
  for (const std::string escape : {"\x1B[1;32m", "\x1B[0m"}) {
    color.erase(color.find(escape), escape.size());
  }
  EXPECT_EQ(color, RenderTable(Example(), false));
}

TEST(RenderTableTest, ReasonsCannotBreakLinesOrColors) {
  Grid grid = Example();
  grid.rows[0][0].text = "evil\x1B[31m\a\nline";
  grid.notes = {"::error::\u009B"};
  EXPECT_THAT(RenderTable(grid, false), HasSubstr("evil\\x1b[31m\\x07\\nline"));
  EXPECT_THAT(RenderTable(grid, false), HasSubstr("\n\\x3a:error::\\u009b\n"));
}

TEST(RenderMarkdownTest, EscapesBarsAndMarksTheBest) {
  const std::string text = RenderMarkdown(Example());
  EXPECT_THAT(text, HasSubstr("A\\|B_1"));
  EXPECT_THAT(text, HasSubstr("**12**"));
  EXPECT_THAT(text, HasSubstr("\na note\n"));
  Grid grid = Example();
  grid.notes = {"<b>\n# heading"};
  EXPECT_THAT(RenderMarkdown(grid), HasSubstr("\n&lt;b>\\\\n# heading\n"));
}

TEST(RenderCsvTest, QuotesWhatNeedsIt) {
  EXPECT_EQ(RenderCsv(Example()),
            "transform,median\n"
            "A|B_1,12\n"
            "\"quote \"\"x\"\", y\\nz\",3\n");
}

TEST(RenderLatexTest, IsATabularWithRules) {
  EXPECT_EQ(RenderLatex(Example()),
            "% \\usepackage{booktabs}\n"
            "% a note\n"
            "\\begin{table}\n"
            "\\centering\n"
            "\\caption{all of it}\n"
            "\\begin{tabular}{lr}\n"
            "\\toprule\n"
            "transform & median \\\\\n"
            "\\midrule\n"
            "A|B\\_1 & \\textbf{12} \\\\\n"
            "quote \"x\", y\\textbackslash{}nz & 3 \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n"
            "\\end{table}\n");
}

// `\\\\[x]` and `\\\\*` would be arguments of the end of the row before.
TEST(RenderLatexTest, ARowMayStartWithABracket) {
  Grid grid = Example();
  grid.rows[0][0].text = "[x]";
  grid.rows[1][0].text = "*";
  EXPECT_THAT(RenderLatex(grid), HasSubstr("\\midrule\n{}[x] & "));
  EXPECT_THAT(RenderLatex(grid), HasSubstr("\\\\\n{}* & "));
}

TEST(RenderJsonTest, BothFormsHoldTheSameRecords) {
  AggregateResult result;
  result.aggregates.resize(2);
  (*result.aggregates[0].mutable_by())["library"] = "a";
  result.aggregates[1].set_median(2.5);
  result.means.emplace_back().set_library("a");
  const std::string lines = RenderJsonl(result);
  const std::string json = RenderJson(result);
  size_t records = 0;
  for (size_t start = 0; start < lines.size(); ++records) {
    const size_t end = lines.find('\n', start);
    EXPECT_THAT(json, HasSubstr(lines.substr(start, end - start)));
    start = end + 1;
  }
  EXPECT_EQ(records, 3u);
}

TEST(RenderJsonTest, EmptyIsStillADocument) {
  EXPECT_EQ(RenderJson({}),
            "{\"aggregates\":[\n],\n\"mean_speed_ups\":[\n]}\n");
  EXPECT_EQ(RenderJsonl({}), "");
}

}  // namespace
}  // namespace feedrate
