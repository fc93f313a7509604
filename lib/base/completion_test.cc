#include "lib/base/completion.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/new_file.h"
#include "lib/base/tool_info.h"

DEFINE_string(emit, "", "WHAT: it's [all]: of it {jobs|table|waves}");
DEFINE_string(thread_policy, "", "NAME: threads {micro-single|default}");
DEFINE_string(config, "", "FILE: what to run");
DEFINE_bool(quick, false, "leave out the slow part");

namespace feedrate {
namespace {

using ::testing::HasSubstr;

std::string Script(absl::string_view shell) {
  ToolInfo info;
  info.name = "tool";
  info.flag_files = {"completion_test.cc"};
  const auto script = CompletionScript(info, shell);
  EXPECT_TRUE(script.ok()) << script.status();
  return script.value_or("");
}

// The output of a command, standard error included.
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

// What bash offers when it calls the function with these words, the last of
// them unfinished.
std::string Bash(const std::string& words) {
  const std::string script = absl::StrCat(
      Script("bash"), "COMP_WORDS=(tool ", words,
      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_feedrate_tool tool\n",
      "printf '%s\\n' \"${COMPREPLY[*]}\"\n");
  return Shell(absl::StrCat("bash -u ", Write("bash", script)));
}

TEST(CompletionTest, BashCompletesFlags) {
  EXPECT_EQ(Bash("--em"), "--emit=\n");
  EXPECT_EQ(Bash("--thread-p"), "--thread_policy=\n");
  EXPECT_EQ(Bash("--q"), "--quick\n");
  EXPECT_EQ(Bash("--no_such"), "\n");
  EXPECT_THAT(Bash("-"), HasSubstr("--config= --emit= --quick "));
}

TEST(CompletionTest, BashCompletesValues) {
  EXPECT_EQ(Bash("--emit ="), "jobs table waves\n");
  EXPECT_EQ(Bash("--emit = ta"), "table\n");
  EXPECT_EQ(Bash("--emit ta"), "table\n");
  EXPECT_EQ(Bash("--thread-policy = d"), "default\n");
  EXPECT_EQ(Bash("--completion = z"), "zsh\n");
}

// Whoever takes `=` out of COMP_WORDBREAKS gets one word.
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
