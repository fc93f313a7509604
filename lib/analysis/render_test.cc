#include "lib/analysis/render.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/grid.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Grid Example() {
  Grid grid;
  grid.header = {{"transform", false, false}, {"median", false, true}};
  grid.rows = {{{"A|B_1", false, false}, {"12", true, true}},
               {{"quote \"x\", y\nz", false, false}, {"3", false, true}}};
  grid.notes = {"a note"};
  return grid;
}

TEST(RenderTableTest, BestIsBoldAndGreenOnlyInColour) {
  EXPECT_THAT(RenderTable(Example(), true), HasSubstr("\x1B[1;32m12\x1B[0m"));
  EXPECT_THAT(RenderTable(Example(), false), Not(HasSubstr("\x1B")));
}

TEST(RenderTableTest, AlignmentIgnoresColour) {
  std::string colour = RenderTable(Example(), true);
  for (const std::string escape : {"\x1B[1;32m", "\x1B[0m"}) {
    colour.erase(colour.find(escape), escape.size());
  }
  EXPECT_EQ(colour, RenderTable(Example(), false));
}

TEST(RenderTableTest, ReasonsCannotBreakLinesOrColours) {
  Grid grid = Example();
  grid.rows[0][0].text = "evil\x1B[31m\nline";
  EXPECT_THAT(RenderTable(grid, false), HasSubstr("evil[31m line"));
}

TEST(RenderMarkdownTest, EscapesBarsAndMarksTheBest) {
  const std::string text = RenderMarkdown(Example());
  EXPECT_THAT(text, HasSubstr("A\\|B_1"));
  EXPECT_THAT(text, HasSubstr("**12**"));
  EXPECT_THAT(text, HasSubstr("\na note\n"));
}

TEST(RenderCsvTest, QuotesWhatNeedsIt) {
  EXPECT_EQ(RenderCsv(Example()),
            "transform,median\n"
            "A|B_1,12\n"
            "\"quote \"\"x\"\", y\nz\",3\n");
}

TEST(RenderLatexTest, IsATabularWithRules) {
  EXPECT_EQ(RenderLatex(Example()),
            "% \\usepackage{booktabs}\n"
            "% a note\n"
            "\\begin{tabular}{lr}\n"
            "\\toprule\n"
            "transform & median \\\\\n"
            "\\midrule\n"
            "A|B\\_1 & \\textbf{12} \\\\\n"
            "quote \"x\", y z & 3 \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n");
}

TEST(EscapeLatexTest, PrintsAsItIs) {
  EXPECT_EQ(EscapeLatex("<=20% a_b & {c} $d #e ~f ^g \\h"),
            "\\textless{}=20\\% a\\_b \\& \\{c\\} \\$d \\#e "
            "\\textasciitilde{}f \\textasciicircum{}g \\textbackslash{}h");
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
