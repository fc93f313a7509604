#include "lib/planning/emit/shell_quote.h"

#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

// What bash makes of a command, without its last newline.
std::string OutputOf(const std::string& script) {
  const std::string command = "bash -c " + ShellQuote(script);
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += char(c);
  EXPECT_EQ(pclose(pipe), 0);
  return output;
}

const char* const kHostile[] = {"",
                                "plain",
                                "two words",
                                "it's",
                                "$HOME `id` $(id) \\ \"quoted\"",
                                "a\nb\tc",
                                "*?[a-z]{x,y}~!#&|;<>()",
                                "-n",
                                "größe",
                                "'''",
                                "\\'"};

TEST(ShellQuoteTest, PlainWordsStayAsTheyAre) {
  EXPECT_EQ(ShellQuote("gs://bucket/a_b-1.tar"), "gs://bucket/a_b-1.tar");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
}

TEST(ShellQuoteTest, ShellReadsBackEveryWord) {
  for (const char* const text : kHostile) {
    EXPECT_EQ(OutputOf("printf %s. " + ShellQuote(text)),
              std::string(text) + ".")
        << text;
  }
}

TEST(ShellSettingsTest, ShellReadsBackValuesAndLists) {
  for (const char* const text : kHostile) {
    ShellSettings settings;
    settings.Comment("what a stranger typed");
    settings.Set("VALUE", text);
    settings.SetList("LIST", {text, "second", text});
    EXPECT_EQ(OutputOf(settings.text() +
                       "printf '%s|%s|%s' \"${#LIST[@]}\" \"$VALUE\" "
                       "\"${LIST[2]}\""),
              "3|" + std::string(text) + "|" + text);
  }
}

}  // namespace
}  // namespace feedrate
