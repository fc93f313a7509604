#include "lib/base/tool/tool_info.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

DEFINE_string(what, "jobs", "WHAT: records or a summary {jobs|table}");
DEFINE_string(plain, "", "no placeholder: text after a colon");
DEFINE_bool(quick, false, "leave out the slow part");
DEFINE_double(ratio, 0.5, "a share");
DEFINE_int32(count, 0, "A,B: open brace { and no end");
DEFINE_string(config, "", "FILE: what to run");
DEFINE_int32(a_flag_with_a_rather_long_name, 7,
             "NUMBER: a description that is long enough to be broken into "
             "more than one line of the eighty columns that there are");
DEFINE_string(emit, "", "WHAT: it's [all]: of it {jobs|table|waves}");
DEFINE_string(draw_policy, "", "NAME: threads {micro-single|default}");

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ToolInfo Info(std::vector<std::string> files) {
  ToolInfo info;
  info.name = "tool";
  info.flag_files = std::move(files);
  return info;
}

ShownFlag Find(const std::string& name) {
  for (const ShownFlag& flag : FlagsOf(Info({"tool_info_test.cc"}), false)) {
    if (flag.name == name) return flag;
  }
  ADD_FAILURE() << "no flag " << name;
  return {};
}

std::vector<std::string> OwnNames() {
  std::vector<std::string> names;
  for (const ShownFlag& flag : FlagsOf(Info({"tool_info_test.cc"}), false)) {
    names.push_back(flag.name);
  }
  return names;
}

TEST(FlagsOfTest, OwnFlagsByNameAndNoOthers) {
  EXPECT_THAT(OwnNames(), ElementsAre("a_flag_with_a_rather_long_name",
                                      "config", "count", "draw_policy", "emit",
                                      "plain", "quick", "ratio", "what"));
  EXPECT_THAT(FlagsOf(Info({}), false), IsEmpty());
}

TEST(FlagsOfTest, AllHasThoseOfLibraries) {
  EXPECT_THAT(FlagsOf(Info({}), true),
              Contains(Field(&ShownFlag::name, "helpfull")));
}

TEST(FlagsOfTest, PlaceholderAndChoicesComeFromTheDescription) {
  const ShownFlag what = Find("what");
  EXPECT_EQ(what.placeholder, "WHAT");
  EXPECT_EQ(what.description, "records or a summary {jobs|table}");
  EXPECT_THAT(what.choices, ElementsAre("jobs", "table"));
  EXPECT_EQ(what.default_value, "jobs");
}

TEST(FlagsOfTest, NumbersHaveFewDigits) {
  EXPECT_EQ(ShortNumber("0.050000000000000003"), "0.05");
  EXPECT_EQ(ShortNumber("0.00012345678910000001"), "0.00012345678910000001");
  EXPECT_EQ(ShortNumber("12 images"), "12 images");
}

TEST(FlagsOfTest, WithoutOneTheTypeGivesThePlaceholder) {
  EXPECT_EQ(Find("plain").placeholder, "TEXT");
  EXPECT_EQ(Find("plain").description, "no placeholder: text after a colon");
  EXPECT_EQ(Find("quick").placeholder, "");
  EXPECT_EQ(Find("ratio").placeholder, "X");
  EXPECT_EQ(Find("count").placeholder, "A,B");
  EXPECT_THAT(Find("count").choices, IsEmpty());
}

ToolInfo HelpInfo() {
  ToolInfo info;
  info.name = "tool";
  info.summary = "does a thing";
  info.usage = "--config=FILE";
  info.description = "Takes a file and does a thing.";
  info.examples = {"tool --config=x"};
  info.flag_files = {"tool_info_test.cc"};
  return info;
}

TEST(HelpTextTest, SaysWhatItDoesFlagsExitCodesAndAnExample) {
  const std::string text = HelpText(HelpInfo(), /*all=*/false);
  EXPECT_THAT(text, HasSubstr("tool: does a thing\n\n"
                              "usage: tool --config=FILE\n\n"
                              "Takes a file and does a thing.\n\n"
                              "Examples\n  tool --config=x\n\nFlags\n"));
  EXPECT_THAT(text, HasSubstr("  --config=FILE             what to run\n"));
  EXPECT_THAT(text, HasSubstr("Exit codes\n  0 done   1 the caller's"));
  EXPECT_THAT(text, HasSubstr("--version"));
}

TEST(HelpTextTest, LongNamesAndTextsAreBroken) {
  const std::string text = HelpText(HelpInfo(), /*all=*/false);
  EXPECT_THAT(text, HasSubstr("  --a_flag_with_a_rather_long_name=NUMBER\n"
                              "                            a description"));
  EXPECT_THAT(text, HasSubstr("(default 7)\n"));
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(HelpTextTest, FlagsOfLibrariesAreInTheFullHelpAlone) {
  EXPECT_THAT(HelpText(HelpInfo(), false), Not(HasSubstr("tab_completion")));
  EXPECT_THAT(HelpText(HelpInfo(), true), HasSubstr("tab_completion"));
}

std::string Script(absl::string_view shell) {
  ToolInfo info;
  info.name = "tool";
  info.flag_files = {"tool_info_test.cc"};
  const auto script = CompletionScript(info, shell);
  EXPECT_TRUE(script.ok()) << script.status();
  return script.value_or("");
}

// Returns the output of a command, including standard error.
std::string Shell(const std::string& command) {
  FILE* pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string output;
  char buffer[4096];
  while (size_t got = fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, got);
  }
  const int status = pclose(pipe);
  return status == 0 ? output : absl::StrCat(output, "status ", status);
}

bool IsInstalled(const std::string& shell) {
  const bool found =
      std::system(absl::StrCat("command -v ", shell, " >/dev/null").c_str()) ==
      0;
  if (!found) std::printf("not tried: %s is not installed\n", shell.c_str());
  return found;
}

std::string Write(const std::string& name, const std::string& content) {
  const std::string path = ::testing::TempDir() + "/completion_test_" + name;
  EXPECT_TRUE(WriteFileAtomically(path, content).ok());
  return path;
}

// Returns what bash offers to complete the last of these words.
std::string Bash(const std::string& words) {
  const std::string script = absl::StrCat(
      Script("bash"), "COMP_WORDS=(tool ", words,
      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_feedrate_tool tool\n",
      "printf '%s\\n' \"${COMPREPLY[*]}\"\n");
  return Shell(absl::StrCat("bash -u ", Write("bash", script)));
}

TEST(CompletionTest, BashCompletesFlags) {
  EXPECT_EQ(Bash("--em"), "--emit=\n");
  EXPECT_EQ(Bash("--draw-p"), "--draw_policy=\n");
  EXPECT_EQ(Bash("--q"), "--quick\n");
  EXPECT_EQ(Bash("--no_such"), "\n");
  EXPECT_THAT(
      Bash("-"),
      HasSubstr("--config= --count= --draw_policy= --emit= --plain= --quick "));
}

TEST(CompletionTest, BashCompletesValues) {
  EXPECT_EQ(Bash("--emit ="), "jobs table waves\n");
  EXPECT_EQ(Bash("--emit = ta"), "table\n");
  EXPECT_EQ(Bash("--emit ta"), "table\n");
  EXPECT_EQ(Bash("--draw-policy = d"), "default\n");
  EXPECT_EQ(Bash("--completion = z"), "zsh\n");
}

// If the user removes `=` from COMP_WORDBREAKS, flag and value are one word.
TEST(CompletionTest, BashCompletesValuesInTheSameWord) {
  EXPECT_EQ(Bash("--emit="), "--emit=jobs --emit=table --emit=waves\n");
  EXPECT_EQ(Bash("--emit=ta"), "--emit=table\n");
}

TEST(CompletionTest, BashCompletesFiles) {
  const std::string file = Write("a file", "");
  const std::string start = file.substr(0, file.size() - 5);
  EXPECT_EQ(Bash(absl::StrCat("--config = '", start, "'")), file + "\n");
  EXPECT_EQ(Bash(absl::StrCat("'", start, "'")), file + "\n");
}

TEST(CompletionTest, BashRegistersTheFunction) {
  const std::string script = Write("bash", Script("bash") + "complete -p tool");
  // `-o filenames` here would turn --emit= into --emit\=.
  EXPECT_EQ(Shell("bash -u " + script), "complete -F _feedrate_tool tool\n");
}

TEST(CompletionTest, ZshScriptIsValid) {
  const std::string script = Script("zsh");
  EXPECT_THAT(script, HasSubstr("#compdef tool\n"));
  EXPECT_THAT(script,
              HasSubstr("'--emit=[it'\\''s (all)\\: of it "
                        "{jobs|table|waves}]:WHAT:(jobs table waves)'"));
  EXPECT_THAT(script, HasSubstr("'--quick[leave out the slow part]'"));
  if (!IsInstalled("zsh")) return;
  EXPECT_EQ(Shell("zsh -n " + Write("zsh", script)), "");
}

TEST(CompletionTest, FishScriptIsValidAndCompletes) {
  const std::string script = Script("fish");
  EXPECT_THAT(script, HasSubstr("complete -c tool -l emit -r -f -a "
                                "'jobs table waves' -d 'it\\'s [all]: of it"));
  if (!IsInstalled("fish")) return;
  const std::string file = Write("fish", script);
  EXPECT_EQ(Shell("fish -n " + file), "");
  const auto complete = [&](const std::string& line) {
    return Shell(absl::StrCat("HOME=", ::testing::TempDir(),
                              " fish -c 'source ", file, "; complete -C \"",
                              line, "\"'"));
  };
  EXPECT_THAT(complete("tool --em"), HasSubstr("--emit"));
  EXPECT_THAT(complete("tool --emit=ta"), HasSubstr("--emit=table"));
}

TEST(CompletionTest, OtherShellsAreTheCallersMistake) {
  const auto script = CompletionScript({}, "zhs");
  EXPECT_EQ(script.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(script.status().message()),
            "--completion: no script for \"zhs\"; did you mean \"zsh\"?");
}

}  // namespace
}  // namespace feedrate
