#include "lib/draw/table.h"

#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

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

TEST(DisplayWidthTest, StylesTakeNoRoom) {
  EXPECT_EQ(DisplayWidth("\x1B[1;32mbold\x1B[0m"), 4u);
  // What only starts like one is text.
  EXPECT_EQ(DisplayWidth("\x1B[1;3"), 5u);
}

}  // namespace
}  // namespace feedrate
