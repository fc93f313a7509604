#include "lib/gate/duel/profile.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(ParsePerfScriptTest, SumsSamplesByStackFromTheOutermostFrame) {
  const FoldedStacks stacks = ParsePerfScript(
      "   1000000 \n"
      "\t            1143 work(int, char) (/tmp/a b/program)\n"
      "\t            1197 main (/tmp/a b/program)\n"
      "\n"
      "    500000 \n"
      "\t            1146 work(int, char) (/tmp/a b/program)\n"
      "\t            1197 main (/tmp/a b/program)\n"
      "\n"
      "    250000 \n"
      "\tffffffff81 a;b ([kernel.kallsyms])\n"
      "\t    7f0012 [unknown] (/usr/lib/libx.so.6)\n"
      "\n"
      "nonsense\n"
      "\n");
  EXPECT_THAT(stacks, UnorderedElementsAre(Pair("main;work(int, char)", 0.0015),
                                           Pair("[libx.so.6];a,b", 0.00025)));
  EXPECT_TRUE(ParsePerfScript("").empty());
}

TEST(ParsePerfScriptTest, TheFileIsNoPartOfTheName) {
  const FoldedStacks stacks = ParsePerfScript(
      "1000000 \n"
      "\t1143 work (int) (/tmp/a (1)/program (deleted))\n"
      "\t1197 [unknown] ([vdso])\n");
  EXPECT_THAT(stacks, UnorderedElementsAre(Pair("[[vdso]];work (int)", 0.001)));
}

TEST(AddPythonStacksTest, OnlyTimesCount) {
  FoldedStacks stacks;
  AddPythonStacks(
      "0.5 main;work\n0.25 main;work\nnan a\ninf b\n-1 c\n0 d\n1e300 e\nf\n",
      &stacks);
  EXPECT_THAT(stacks, UnorderedElementsAre(Pair("main;work", 0.75)));
}

// The path of a program in a folder of its own, as in two checkouts.
std::string PythonProgram(const std::string& side, int slow) {
  const std::string folder =
      absl::StrCat(std::getenv("TEST_TMPDIR"), "/", side);
  EXPECT_TRUE(MakeFolder(folder).ok());
  const std::string path = absl::StrCat(folder, "/program.py");
  std::ofstream(path) << "import time\n"
                         "def busy(seconds):\n"
                         "    end = time.perf_counter() + seconds\n"
                         "    while time.perf_counter() < end:\n"
                         "        pass\n"
                         "def usual():\n"
                         "    busy(0.05)\n"
                         "    time.sleep(1)\n"
                         "def slow():\n"
                         "    time.sleep("
                      << 0.1 * slow
                      << ")\n"
                         "usual()\n"
                         "slow()\n";
  return absl::StrCat("python3 ", path);
}

DuelOptions Of(std::string a, std::string b) {
  DuelOptions options;
  options.a = std::move(a);
  options.b = std::move(b);
  return options;
}

TEST(RunProfileTest, NamesTheSlowFunctionOfAPythonCommand) {
  const absl::StatusOr<Profile> profile = RunProfile(
      Of(PythonProgram("a", 1), PythonProgram("b", 8)), Profiler::kAuto, 4);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->profiler(), "python");
  EXPECT_EQ(profile->pairs(), 4);
  EXPECT_EQ(profile->parts(0).name(), "slow (program.py)");
  EXPECT_GT(profile->parts(0).low_s(), 0);
  EXPECT_GT(profile->b_s(), profile->a_s());
}

TEST(RunProfileTest, ACommandThatIsNotPythonIsNotTakenForOne) {
  const absl::StatusOr<Profile> profile =
      RunProfile(Of("true", "true"), Profiler::kPython, 1);
  ASSERT_FALSE(profile.ok());
  EXPECT_THAT(std::string(profile.status().message()),
              HasSubstr("no Python program"));
}

TEST(RunProfileTest, ASideThatFailsIsTold) {
  const absl::StatusOr<Profile> profile =
      RunProfile(Of("true", "exit 3"), Profiler::kPython, 1);
  EXPECT_FALSE(profile.ok());
}

TEST(RunProfileTest, PerfSeesWhereTheShellSpendsItsTime) {
  const std::string loop = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
  const absl::StatusOr<Profile> profile = RunProfile(
      Of(loop, absl::StrCat(loop, "; ", loop, "; ", loop)), Profiler::kAuto, 3);
  if (!profile.ok() &&
      (absl::StrContains(profile.status().message(), "perf is missing") ||
       absl::StrContains(profile.status().message(), "not allowed"))) {
    GTEST_SKIP() << profile.status();
  }
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->profiler(), "perf");
  EXPECT_GT(profile->b_s(), 1.5 * profile->a_s());
  EXPECT_GT(profile->frames_size(), 1);
  EXPECT_GT(profile->parts_size(), 0);
}

TEST(RunProfileTest, WithoutAShellNothingIsExpanded) {
  const std::string made = absl::StrCat(testing::TempDir(), "/made_by_shell");
  DuelOptions options =
      Of(PythonProgram("a", 1),
         absl::StrCat(PythonProgram("b", 1), " $(touch ", made, ")"));
  options.shell = "";
  const absl::StatusOr<Profile> profile =
      RunProfile(options, Profiler::kPerf, 1);
  EXPECT_FALSE(IsFile(made));
  if (!profile.ok() &&
      (absl::StrContains(profile.status().message(), "perf is missing") ||
       absl::StrContains(profile.status().message(), "not allowed"))) {
    GTEST_SKIP() << profile.status();
  }
  EXPECT_TRUE(profile.ok()) << profile.status();
}

}  // namespace
}  // namespace feedrate
