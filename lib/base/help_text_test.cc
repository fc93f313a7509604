#include "lib/base/help_text.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/tool_info.h"

DEFINE_string(config, "", "FILE: what to run");
DEFINE_int32(a_flag_with_a_rather_long_name, 7,
             "NUMBER: a description that is long enough to be broken into "
             "more than one line of the eighty columns that there are");

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ToolInfo Info() {
  ToolInfo info;
  info.name = "tool";
  info.summary = "does a thing";
  info.usage = "--config=FILE";
  info.description = "Takes a file and does a thing.";
  info.examples = {"tool --config=x"};
  info.flag_files = {"help_text_test.cc"};
  return info;
}

TEST(HelpTextTest, SaysWhatItDoesFlagsExitCodesAndAnExample) {
  const std::string text = HelpText(Info(), /*all=*/false);
  EXPECT_THAT(text, HasSubstr("tool: does a thing\n\n"
                              "usage: tool --config=FILE\n\n"
                              "Takes a file and does a thing.\n"));
  EXPECT_THAT(text, HasSubstr("  --config=FILE             what to run\n"));
  EXPECT_THAT(text, HasSubstr("Exit codes\n  0 done   1 the caller's"));
  EXPECT_THAT(text, HasSubstr("--version"));
  EXPECT_THAT(text, HasSubstr("Examples\n  tool --config=x\n"));
}

TEST(HelpTextTest, LongNamesAndTextsAreBroken) {
  const std::string text = HelpText(Info(), /*all=*/false);
  EXPECT_THAT(text, HasSubstr("  --a_flag_with_a_rather_long_name=NUMBER\n"
                              "                            a description"));
  EXPECT_THAT(text, HasSubstr("(default 7)\n"));
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(HelpTextTest, FlagsOfLibrariesAreInTheFullHelpAlone) {
  EXPECT_THAT(HelpText(Info(), false), Not(HasSubstr("tab_completion")));
  EXPECT_THAT(HelpText(Info(), true), HasSubstr("tab_completion"));
}

}  // namespace
}  // namespace feedrate
