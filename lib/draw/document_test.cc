#include "lib/draw/document.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/output_checks.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Document Example() {
  DocumentTable table;
  table.caption = "A table of `things`";
  table.header = {"name", "value"};
  table.align = {Align::kLeft, Align::kRight};
  DocumentCell best("12 <b>");
  best.value = 12;
  best.detail = "[11, 13]";
  best.hover = "all \"about\" it";
  best.is_best = true;
  table.rows = {{"a|b", best}, {"c", "unsupported"}};
  Figure figure;
  figure.id = "figure-one";
  figure.caption = "A figure";
  figure.has_log = true;
  figure.draw = [](ScaleType, double width) {
    Svg svg(width, 20, "figure");
    svg.Rect(0, 0, 10, 10, "f0");
    return svg;
  };
  Document document;
  document.title = "Title <&>";
  document.subtitle = "on `machine`";
  document.sections = {
      {"one",
       "One",
       1,
       {Paragraph{"Some `code` & text", true}, KeyNumbers{{{"3", "libraries"}}},
        table}},
      {"two", "Two", 2, {figure, CodeBlock{"Config", "a: \"<b>\"\n"}}}};
  return document;
}

TEST(MarkdownTest, IsAsBefore) {
  EXPECT_TRUE(MatchesGolden(ToMarkdown(Example(), "figures"),
                            "lib/draw/testdata/document.golden.md"));
}

// It cannot start a command of a CI system there; at the start it can.
TEST(MarkdownTest, AColonBehindCodeIsItself) {
  Document document;
  document.sections.emplace_back();
  document.sections[0].blocks.emplace_back(Paragraph{"All on `m`: same"});
  document.sections[0].blocks.emplace_back(Paragraph{"::error::x"});
  const std::string text = ToMarkdown(document, "");
  EXPECT_THAT(text, HasSubstr("All on `m`: same"));
  EXPECT_THAT(text, Not(HasSubstr("::error")));
}

TEST(HtmlTest, EscapesWhatItIsGiven) {
  const std::string page = ToHtml(Example());
  EXPECT_THAT(page, HasSubstr("<h1>Title &lt;&amp;&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("Some <code>code</code> &amp; text"));
  EXPECT_THAT(page, HasSubstr("12 &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("data-v=\"12\""));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
}

TEST(HtmlTest, RowsMayBeSentencesOnANarrowScreen) {
  DocumentTable table;
  table.header = {"what", "fastest"};
  table.align.assign(2, Align::kLeft);
  table.rows = {{"a", "b"}};
  Document document;
  document.sections.emplace_back();
  document.sections[0].blocks.emplace_back(table);
  EXPECT_THAT(ToHtml(document), Not(HasSubstr("class=\"table sentences\"")));
  table.is_sentences = true;
  document.sections[0].blocks[0] = table;
  EXPECT_THAT(ToHtml(document), HasSubstr("class=\"table sentences\""));
}

TEST(TableTest, LosesColumnsThatSayNothing) {
  DocumentTable table;
  table.header = {"name", "empty", "zero", "constant", "value"};
  table.align.assign(5, Align::kLeft);
  DocumentCell zero("0.0");
  zero.value = 0;
  table.rows = {{"a", NotMeasured(), zero, "x", "1"},
                {"b", "", zero, "x", NotMeasured()}};
  table.DropEmptyColumns();
  EXPECT_THAT(table.header, ElementsAre("name", "constant", "value"));
  table.FoldConstantColumns();
  EXPECT_THAT(table.header, ElementsAre("name", "value"));
  EXPECT_EQ(table.caption, "In all lines: constant x.");
  ASSERT_EQ(table.rows[1].size(), 2u);
  EXPECT_EQ(table.rows[1][1].text, "not measured");
}

TEST(HtmlTest, ContentsLeaveOutWhatIsNotWanted) {
  Document document = Example();
  EXPECT_THAT(ToHtml(document), HasSubstr("href=\"#two\""));
  document.sections[1].in_contents = false;
  EXPECT_THAT(ToHtml(document), Not(HasSubstr("href=\"#two\"")));
}

TEST(HtmlTest, FetchesNothing) {
  const std::string page = ToHtml(Example());
  for (const char* word : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

TEST(HtmlTest, DrawsEachFigureForEveryScreenAndScale) {
  const std::string page = ToHtml(Example());
  for (const char* kind : {"linear wide", "linear narrow", "logarithmic wide",
                           "logarithmic narrow"}) {
    EXPECT_THAT(page, HasSubstr(kind));
  }
}

}  // namespace
}  // namespace feedrate
