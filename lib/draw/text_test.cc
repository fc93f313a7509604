#include "lib/draw/text.h"

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lib/draw/progress.h"

namespace feedrate {
namespace {

TEST(FirstWordsTest, CutsBetweenWords) {
  EXPECT_EQ(FirstWords("out of memory", 13), "out of memory");
  EXPECT_EQ(FirstWords("out of memory", 12), "out of…");
  EXPECT_EQ(FirstWords("out of memory", 7), "out of…");
  EXPECT_EQ(FirstWords("out of memory", 6), "out…");
  EXPECT_EQ(FirstWords("memory", 4), "mem…");
  EXPECT_EQ(FirstWords("a  b", 3), "a…");
  EXPECT_EQ(FirstWords("", 0), "");
}

TEST(SignificantTextTest, KeepsWholeDigitsAndGroupsThem) {
  EXPECT_EQ(SignificantText(0), "0");
  EXPECT_EQ(SignificantText(0.012345), "0.0123");
  EXPECT_EQ(SignificantText(1.2), "1.20");
  EXPECT_EQ(SignificantText(123.4), "123");
  EXPECT_EQ(SignificantText(12345.6), "12,346");
  EXPECT_EQ(SignificantText(-1234567), "-1,234,567");
}

TEST(SignificantTextTest, RoundsBeforeCountingDigits) {
  EXPECT_EQ(SignificantText(9.996), "10.0");
  EXPECT_EQ(SignificantText(999.6), "1,000");
}

TEST(SignificantTextTest, HasAWordForNoNumber) {
  EXPECT_EQ(SignificantText(NAN), "–");
  EXPECT_EQ(SignificantText(INFINITY), "–");
}

// 1e-310 and what rounds up to infinity used to end the program.
TEST(SignificantTextTest, TakesAnyNumber) {
  EXPECT_EQ(SignificantText(1e-310), "1.00e-310");
  EXPECT_EQ(SignificantText(5e-324), "4.94e-324");
  EXPECT_EQ(SignificantText(1.7976931348623157e308), "1.80e+308");
  EXPECT_EQ(SignificantText(-1e15), "-1.00e+15");
  EXPECT_EQ(SignificantText(1e-9), "0.00000000100");
  EXPECT_EQ(ShortNumberText(1e300), "1.0e+300");
  EXPECT_EQ(ShortNumberText(1e-310), "1.0e-310");
  EXPECT_EQ(PercentText(1e308), "–");
  EXPECT_EQ(PercentText(1e100), "1.0e+102%");
  EXPECT_EQ(CoordinateText(NAN), "0");
  EXPECT_EQ(CoordinateText(-INFINITY), "0");
}

TEST(ShortNumberTextTest, UsesUnits) {
  EXPECT_EQ(ShortNumberText(0), "0");
  EXPECT_EQ(ShortNumberText(0.05), "0.05");
  EXPECT_EQ(ShortNumberText(2.5), "2.5");
  EXPECT_EQ(ShortNumberText(950), "950");
  EXPECT_EQ(ShortNumberText(1200), "1.2k");
  EXPECT_EQ(ShortNumberText(35000), "35k");
  EXPECT_EQ(ShortNumberText(2e6), "2M");
  EXPECT_EQ(ShortNumberText(-3e9), "-3G");
}

TEST(BytesTextTest, UsesPowersOfTwo) {
  EXPECT_EQ(BytesText(512), "512 B");
  EXPECT_EQ(BytesText(1536), "1.50 KiB");
  EXPECT_EQ(BytesText(3.0 * (1 << 30)), "3.00 GiB");
}

TEST(CoordinateTextTest, IsShort) {
  EXPECT_EQ(CoordinateText(1.0), "1");
  EXPECT_EQ(CoordinateText(1.256), "1.26");
  EXPECT_EQ(CoordinateText(-0.001), "0");
}

TEST(DisplayWidthTest, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("größe…"), 6u);
  EXPECT_EQ(DisplayWidth("日本"), 4u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);
  EXPECT_EQ(DisplayWidth("\xff\xe2\x82"), 2u);
}

TEST(TableTest, AlignsColumns) {
  Table table({"library", "jobs"}, {Align::kLeft, Align::kRight});
  table.AddRow({"kornia", "52"});
  table.AddRow({"größe", "7"});
  table.AddRule();
  table.AddRow({"all", "161"});
  EXPECT_EQ(table.ToText(),
            "library  jobs\n"
            "─────────────\n"
            "kornia     52\n"
            "größe       7\n"
            "─────────────\n"
            "all       161\n");
}

TEST(TableTest, LeavesNoTrailingSpaces) {
  Table table({"a", "b"}, {Align::kLeft, Align::kLeft});
  table.AddRow({"x", ""});
  table.AddRow({"x", "long"});
  EXPECT_EQ(table.ToText().find(" \n"), std::string::npos);
}

TEST(TableTest, MarkdownEscapesBars) {
  Table table({"a", "n"}, {Align::kLeft, Align::kRight});
  table.AddRow({"x|y", "1"});
  EXPECT_EQ(table.ToMarkdown(), "| a | n |\n|---|---:|\n| x\\|y | 1 |\n");
}

TEST(TableTest, ForeignTextStaysInItsCell) {
  Table table({"job\x1B", "n"}, {Align::kLeft, Align::kRight});
  table.AddRow({"::stop-commands::x\n<b>\u009B", "1"});
  EXPECT_EQ(table.ToText(),
            "job\\x1b                           n\n"
            "───────────────────────────────────\n"
            "\\x3a:stop-commands::x\\n<b>\\u009b  1\n");
  EXPECT_EQ(table.ToMarkdown(),
            "| job\\\\x1b | n |\n|---|---:|\n"
            "| \\\\x3a:stop-commands::x\\\\n&lt;b>\\\\u009b | 1 |\n");
}

TEST(TableTest, TheBestIsBold) {
  Table table({"a", "b"}, {Align::kLeft, Align::kRight});
  table.AddRow({"x", "10"}, {false, true});
  table.AddRow({"y", "9"});
  EXPECT_EQ(table.ToText(), "a   b\n─────\nx  10\ny   9\n");
  EXPECT_EQ(table.ToText(true),
            "a   b\n─────\nx  \x1B[1;32m10\x1B[0m\ny   9\n");
  EXPECT_EQ(table.ToMarkdown(),
            "| a | b |\n|---|---:|\n| x | **10** |\n| y | 9 |\n");
}

// The padding of all other rows would take more room than the name.
TEST(TableTest, OneLongNameDoesNotWidenEveryRow) {
  Table table({"a", "b"}, {Align::kLeft, Align::kLeft});
  table.AddRow({std::string(100000, 'x'), "1"});
  for (int i = 0; i < 100; ++i) table.AddRow({"y", "2"});
  EXPECT_LT(table.ToText().size(), 200000u);
  EXPECT_NE(table.ToText().find("x  1\n"), std::string::npos);
}

TEST(TableTest, LongTextsGoOnBelow) {
  Table table({"job", "n", "why"}, {Align::kLeft, Align::kRight, Align::kLeft});
  std::string why = "because";
  for (int i = 0; i < 30; ++i) why += " because";
  table.AddRow({"first", "1", why}, {false, true, false});
  table.AddRow({"second", "2", ""});
  const std::string text = table.ToText(true);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_EQ(lines.size(), 7u) << text;
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), 131u);
  EXPECT_EQ(lines[2].find("first   \x1B[1;32m1\x1B[0m  because "), 0u) << text;
  EXPECT_EQ(lines[3].find("           because because"), 0u) << text;
  EXPECT_EQ(lines[5], "second  2");
  // Nothing is cut: a table of long words stays wide.
  Table wide({"a", "b"}, {Align::kLeft, Align::kLeft});
  wide.AddRow({std::string(90, 'x'), std::string(90, 'y')});
  EXPECT_NE(wide.ToText().find(std::string(90, 'y')), std::string::npos);
}

TEST(TableTest, NoLineStartsWithACommandOfCi) {
  Table table({"job", "n"}, {Align::kLeft, Align::kRight});
  table.AddRow(
      {std::string(100, 'x') + " ::error::stop " + std::string(90, 'y'), "1"});
  EXPECT_EQ(table.ToText().find("\n::"), std::string::npos) << table.ToText();
}

TEST(ToColumnsTest, KeepsWholeCharacters) {
  EXPECT_EQ(ToColumns("abc", 5), "abc");
  EXPECT_EQ(ToColumns("größe", 3), "grö");
  EXPECT_EQ(ToColumns("日本", 3), "日");
  EXPECT_EQ(ToColumns("", 3), "");
}

TEST(SparklineTest, ScalesFromLowestToHighest) {
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Sparkline({-1, 1}), "▁█");
}

TEST(SparklineTest, OddInput) {
  EXPECT_EQ(Sparkline({}), "");
  EXPECT_EQ(Sparkline({3, 3}), "▅▅");
  EXPECT_EQ(Sparkline({1, std::nan(""), 2}), "▁ █");
  EXPECT_EQ(Sparkline({-1.7e308, 0, 1.7e308}), "▁▅█");
}

TEST(SparklineTest, JoinsWhatIsTooLong) {
  EXPECT_EQ(Sparkline({0, 0, 1, 1}, 2), "▁█");
}

class ProgressTest : public testing::Test {
 protected:
  Progress Make(bool is_terminal) {
    return Progress(out_, is_terminal, [this] { return now_; });
  }

  std::ostringstream out_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(ProgressTest, ATerminalGetsALineThatIsDrawnOver) {
  Progress progress = Make(true);
  progress.Show("transforms", 0, 4, "Resize pillow");
  now_ += absl::Seconds(3);
  progress.Show("transforms", 1, 4, "Rotate");
  progress.Finish();
  EXPECT_EQ(out_.str(),
            "\rtransforms [....................] 0/4  Resize pillow"
            "\rtransforms [#####...............] 1/4  Rotate  9s left"
            "\r" +
                std::string(54, ' ') + "\r");
}

TEST_F(ProgressTest, ATerminalIsNotDrawnToFasterThanPeopleRead) {
  Progress progress = Make(true);
  progress.Show("images", 0, 4000, "");
  const size_t once = out_.str().size();
  for (int i = 0; i < 1000; ++i) progress.Show("images", i, 4000, "");
  EXPECT_EQ(out_.str().size(), once);
}

TEST_F(ProgressTest, ALogGetsALineNowAndThen) {
  Progress progress = Make(false);
  for (int i = 0; i < 60; ++i) {
    progress.Show("images", i, 60, "");
    now_ += absl::Seconds(1);
  }
  progress.Finish();
  EXPECT_EQ(out_.str(),
            "images 10/60, 50s left\nimages 20/60, 40s left\n"
            "images 30/60, 30s left\nimages 40/60, 20s left\n"
            "images 50/60, 10s left\n");
}

TEST_F(ProgressTest, WithoutATotalThereIsNoBar) {
  Progress progress = Make(true);
  progress.Show("calibrate", 0, 0, "A against A, pair 3");
  progress.Finish();
  EXPECT_EQ(out_.str(),
            "\rcalibrate: A against A, pair 3\r" + std::string(30, ' ') + "\r");
}

TEST_F(ProgressTest, ForeignTextStaysInItsLine) {
  Progress progress = Make(true);
  progress.Show("x", 0, 0, "a\x1B[2J\n::error::b");
  EXPECT_EQ(out_.str(), "\rx: a\\x1b[2J\\n::error::b");
  out_.str("");
  progress.Show("y", 0, 0, std::string(75, '.') + "日本日本");
  // The line of before is removed first.
  EXPECT_EQ(out_.str().substr(out_.str().rfind('\r')),
            "\ry: " + std::string(75, '.'));
}

TEST_F(ProgressTest, MoreThanTheTotalIsAFullBar) {
  Progress progress = Make(true);
  progress.Show("pairs", 5, 4, "");
  progress.Finish();
  EXPECT_EQ(out_.str().substr(0, 34), "\rpairs [####################] 5/4\r");
}

TEST_F(ProgressTest, WhatIsOverAtOnceLeavesNoTraceInALog) {
  Progress progress = Make(false);
  progress.Show("libraries", 0, 2, "opencv");
  progress.Show("images", 1, 2, "");
  progress.Finish();
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace feedrate
