#include "lib/gate/duel/duel.h"

#include <elf.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/gate/duel/duel_sides.h"
#include "lib/gate/duel/duel_summary.h"
#include "lib/gate/testing_rows.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

// Null without ThreadSanitizer.
extern "C" void __attribute__((weak)) __tsan_init();

namespace feedrate {
namespace {

std::string RowPrinter(const std::string& seconds) {
  return "print_row() { echo '{\"schema\":1,\"record\":\"row\",\"job_id\":\"'$1"
         "'\",\"mode\":\"micro\",\"transform\":\"'$1'\",\"status\":\"ok\","
         "\"machine_profile\":\"m\",\"samples_s\":['$2']}'; }; "
         "set -- {jobs}; [ -n \"$1\" ] || print_row one 1; print_row two " +
         seconds;
}

class DuelTest : public testing::Test {
 protected:
  absl::StatusOr<DuelResult> Duel(DuelOptions options) {
    options.seed = 5;
    options.write = [this](const google::protobuf::Message& record) {
      ++records_[record.GetDescriptor()->name()];
      if (record.GetDescriptor()->name() == "Row") {
        rows_.push_back(static_cast<const Row&>(record));
      }
      return absl::OkStatus();
    };
    return RunDuel(options);
  }
  DuelOptions Plain(const std::string& a, const std::string& b, int pairs) {
    DuelOptions options;
    options.a = a;
    options.b = b;
    options.looks = {pairs};
    options.machine_profile = "m";
    return options;
  }
  std::map<std::string, int> records_;
  std::vector<Row> rows_;
};

// A command that needs so much memory.
std::string Needing(int64_t bytes) {
  return absl::StrFormat("head -c %d /dev/zero | tail -c %d", bytes, bytes);
}

TEST_F(DuelTest, GoesOnWhileAMetricIsUndecided) {
  // A command's peak is at least that of the process that starts it, which is
  // large with AddressSanitizer.
  rusage own;
  getrusage(RUSAGE_SELF, &own);
  const int64_t bytes = std::max<int64_t>(20000000, 1536 * own.ru_maxrss);
  const std::string little = Needing(bytes);
  DuelOptions options = Plain(little, little, 10);
  options.looks = {10, 22};
  options.timing = DuelTiming::kWall;
  options.metrics = *ParseMetricChoice("memory");
  // On a busy machine the times of the same commands differ.
  options.interest_percent = 1000;
  EXPECT_EQ(Duel(options)->rows.jobs()[0].pairs.size(), 10);
  options.b = Needing(bytes + bytes * 3 / 10);
  const absl::StatusOr<DuelResult> result = Duel(options);
  EXPECT_EQ(result->rows.jobs()[0].pairs.size(), 22);
  EXPECT_EQ(result->verdicts[0].verdict(), "slower");
  EXPECT_EQ(result->verdicts[0].codes(0), "memory");
}

TEST_F(DuelTest, PlainCommandsAreOneSampleARun) {
  const auto result = Duel(Plain("true", "true", 3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(records_["Duel"], 1);
  ASSERT_EQ(rows_.size(), 6);
  // A probe and a warm-up, then the pairs.
  EXPECT_EQ(result->runs, 8);
  std::map<std::string, int> sides;
  for (size_t i = 0; i < rows_.size(); ++i) {
    EXPECT_EQ(rows_[i].pair().index(), static_cast<int>(i / 2));
    EXPECT_EQ(rows_[i].pair().position(), static_cast<int>(i % 2));
    EXPECT_EQ(rows_[i].machine_profile(), "m");
    ++sides[rows_[i].pair().side()];
  }
  EXPECT_EQ(sides["a"], 3);
  EXPECT_EQ(sides["b"], 3);
  EXPECT_FALSE(DuelSummary(Plain("true", "true", 3), *result).empty());
}

TEST_F(DuelTest, TheOrderIsByCoin) {
  const auto result = Duel(Plain("true", "true", 16));
  ASSERT_TRUE(result.ok());
  int b_first = 0;
  for (const Row& row : rows_) {
    b_first += row.pair().position() == 0 && row.pair().side() == "b";
  }
  EXPECT_GT(b_first, 1);
  EXPECT_LT(b_first, 15);
}

TEST_F(DuelTest, OnlySuspectsRunAgain) {
  DuelOptions options = Plain(RowPrinter("1"), RowPrinter("1.1"), 0);
  options.looks = {10, 20, 30};
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  std::map<std::string, int> count;
  for (const Row& row : rows_) ++count[row.job_id()];
  EXPECT_EQ(count["one"], 20);
  EXPECT_EQ(count["two"], 40);
  ASSERT_EQ(result->verdicts.size(), 2);
  EXPECT_EQ(result->verdicts[0].verdict(), "same");
  EXPECT_EQ(result->verdicts[1].verdict(), "slower");
  EXPECT_NEAR(result->verdicts[1].effect().percent(), 10, 1e-6);
  EXPECT_NE(DuelSummary(options, *result).find("1 of 2 jobs are the same"),
            std::string::npos);
}

TEST_F(DuelTest, RerunsEverythingWhenAsked) {
  DuelOptions options = Plain(RowPrinter("1"), RowPrinter("1.1"), 0);
  options.looks = {10, 20, 30};
  options.rerun_all = true;
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(rows_.size(), 60);
}

TEST_F(DuelTest, RerunsEverythingWhenJobsAreRefused) {
  const std::string refuses = "[ -z \"{jobs}\" ] || exit 1; ";
  DuelOptions options =
      Plain(refuses + RowPrinter("1"), refuses + RowPrinter("1.1"), 0);
  options.looks = {10, 20, 30};
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kDone);
  EXPECT_EQ(rows_.size(), 60);
  EXPECT_EQ(warnings.size(), 1);
  EXPECT_EQ(result->verdicts[1].verdict(), "slower");
}

TEST_F(DuelTest, OneJobAlone) {
  DuelOptions options = Plain(RowPrinter("1"), RowPrinter("1"), 2);
  options.only = "two";
  ASSERT_TRUE(Duel(options).ok());
  EXPECT_EQ(rows_.size(), 4);
  for (const Row& row : rows_) EXPECT_EQ(row.job_id(), "two");
  options.only = "three";
  EXPECT_EQ(Duel(options).status().code(), absl::StatusCode::kNotFound);
}

TEST(DuelRoundsTest, CombinesParametersAndCandidates) {
  const std::vector<DuelRound> rounds =
      RoundsOf("a {n}", {"b {n} {m}", "c"}, {{"n", {"1", "2"}}, {"m", {"x"}}});
  ASSERT_EQ(rounds.size(), 2);
  EXPECT_EQ(rounds[1].point, "n=2, m=x");
  EXPECT_EQ(rounds[1].a, "a 2");
  ASSERT_EQ(rounds[1].contests.size(), 2);
  EXPECT_EQ(rounds[1].contests[0].b(), "b 2 x");
  EXPECT_EQ(rounds[1].contests[0].name(), "n=2, m=x, b 2 x");
  // One contest needs no name.
  EXPECT_EQ(RoundsOf("a", {"b"}, {})[0].contests[0].name(), "");
  EXPECT_EQ(ParseParameter("n=1,2")->second.size(), 2);
  for (const char* text : {"n", "n=", "=1", "seed=1"}) {
    EXPECT_FALSE(ParseParameter(text).ok()) << text;
  }
}

TEST_F(DuelTest, SeveralCandidatesShareTheRunsOfTheBaseline) {
  DuelOptions options = Plain(RowPrinter("1"), RowPrinter("1 "), 0);
  options.more_b = {RowPrinter("1.1")};
  options.looks = {8, 19, 30};
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  // 8 rounds of three commands, and 11 of those that go on.
  EXPECT_EQ(result->runs, 1 + 8 * 3 + 11 * 2);
  ASSERT_EQ(result->verdicts.size(), 4);
  std::map<std::string, std::string> verdicts;
  for (const Verdict& verdict : result->verdicts) {
    verdicts[verdict.job()] = verdict.verdict();
  }
  EXPECT_EQ(verdicts["two [" + RowPrinter("1 ") + "]"], "same");
  EXPECT_EQ(verdicts["two [" + RowPrinter("1.1") + "]"], "slower");
  // Four jobs share the error level.
  options.error_percent = 4;
  options.looks = {8};
  EXPECT_DOUBLE_EQ(Duel(options)->verdicts[0].level(), 0.01);
  // Positions say who ran first in each pair of a contest.
  std::map<std::pair<std::string, int>, std::set<int>> positions;
  for (const Row& row : rows_) {
    positions[{row.pair().contest() + row.job_id(), row.pair().index()}].insert(
        row.pair().position());
  }
  for (const auto& pair : positions) EXPECT_EQ(pair.second.size(), 2);
}

TEST_F(DuelTest, ParametersAreJobsOfTheirOwn) {
  DuelOptions options = Plain("true {n}", "true {n} {n}", 2);
  options.parameters = {{"n", {"4", "5"}}};
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->verdicts.size(), 2);
  EXPECT_EQ(result->verdicts[1].job(), "true 5 [n=5]");
  EXPECT_NE(result->verdicts[1].command().find("--b='true 5 5'"),
            std::string::npos)
      << result->verdicts[1].command();
  EXPECT_EQ(rows_.size(), 8);
}

std::string Slurp(const std::string& path) {
  const std::string text = *ReadFile(path);
  unlink(path.c_str());
  return text;
}

TEST_F(DuelTest, SetupPrepareAndCleanupRunInOrder) {
  const std::string log = absl::StrCat(testing::TempDir(), "/steps");
  const auto say = [&log](const std::string& what) {
    return absl::StrCat("printf ", what, " >>", log);
  };
  DuelOptions options = Plain(say("A"), say("B"), 2);
  options.warmup = 0;
  options.timing = DuelTiming::kWall;
  options.setup = say("s");
  options.prepare = say("{side}");
  options.cleanup = say("c");
  ASSERT_TRUE(Duel(options).ok());
  const std::string steps = Slurp(log);
  EXPECT_EQ(steps.size(), 10) << steps;
  EXPECT_EQ(steps.front(), 's');
  EXPECT_EQ(steps.back(), 'c');
  for (size_t i = 1; i + 1 < steps.size(); i += 2) {
    EXPECT_EQ(steps[i] == 'a', steps[i + 1] == 'A') << steps;
  }
  // Cleans up after a failure too, and says what failed.
  options.prepare = "exit 3";
  const auto failed = Duel(options);
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->exit_code, ExitCode::kRunFailed);
  EXPECT_EQ(failed->failure, "--prepare: exit code 3: exit 3");
  EXPECT_EQ(Slurp(log), "sc");
}

TEST_F(DuelTest, TheEnvironmentVariesFromPairToPair) {
  const std::string log = absl::StrCat(testing::TempDir(), "/sizes");
  DuelOptions options =
      Plain(absl::StrCat("echo ${#FEEDRATE_PADDING} >>", log), "", 8);
  options.b = options.a;
  options.warmup = 0;
  options.timing = DuelTiming::kWall;
  ASSERT_TRUE(Duel(options).ok());
  const std::vector<std::string> sizes =
      absl::StrSplit(Slurp(log), '\n', absl::SkipEmpty());
  ASSERT_EQ(sizes.size(), 16);
  std::set<std::string> different;
  for (size_t i = 0; i < sizes.size(); i += 2) {
    EXPECT_EQ(sizes[i], sizes[i + 1]);
    different.insert(sizes[i]);
  }
  EXPECT_GE(different.size(), 6);
}

TEST_F(DuelTest, RelinksBeforeEachPair) {
  const std::string log = absl::StrCat(testing::TempDir(), "/links");
  DuelOptions options = Plain("true", "true ", 2);
  options.timing = DuelTiming::kWall;
  options.warmup = 0;
  options.runs_per_layout = 3;
  options.relink = absl::StrCat("echo {side} {seed} >>", log);
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  // Before the first run and before each pair, for each side.
  const std::vector<std::string> links =
      absl::StrSplit(Slurp(log), '\n', absl::SkipEmpty());
  EXPECT_EQ(links.size(), 6);
  EXPECT_EQ(std::set<std::string>(links.begin(), links.end()).size(), 6);
  // Runs of one layout are one pair.
  EXPECT_EQ(rows_.size(), 12);
  EXPECT_EQ(result->verdicts[0].pairs(), 2);
}

TEST_F(DuelTest, ControlsRunBetweenThePairs) {
  ASSERT_TRUE(Duel(Plain("true", "true ", 1)).ok());
  const int64_t memory = rows_[0].rss_peak_bytes();
  rows_.clear();
  DuelOptions options = Plain("true", "true ", 4);
  options.controls = true;
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(rows_.size(), 8);
  // The memory of the workloads is not that of the commands; but that of
  // ThreadSanitizer is.
  if (__tsan_init == nullptr) {
    EXPECT_LT(rows_[0].rss_peak_bytes(), memory + (8 << 20));
  }
  std::map<std::string, size_t> pairs;
  for (const PairedJob& control : result->rows.controls()) {
    pairs[control.label] = control.Differences().size();
  }
  EXPECT_EQ(pairs["A/A"], 2);
  EXPECT_EQ(records_["Control"], 2 * 2 + 3 * 8);
  EXPECT_EQ(pairs["cpu"], 4);
  EXPECT_EQ(pairs["memory"], 4);
  EXPECT_EQ(pairs["disk"], 4);
}

// What B leaves behind slows the machine down for a while. Changes larger than
// that remain.
TEST_F(DuelTest, AControlThatMovesLeavesNoVerdict) {
  auto result = Duel(Plain(RowPrinter("1"), RowPrinter("1.1"), 19));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->verdicts[1].verdict(), "slower");
  const auto move = [&result](const std::string& name, double seconds) {
    for (int pair = 0; pair < 19; ++pair) {
      for (const char* side : {"a", "b"}) {
        Control control;
        control.set_name(name);
        control.mutable_pair()->set_index(pair);
        control.mutable_pair()->set_side(side);
        control.set_seconds(side[0] == 'b' ? seconds : 1);
        result->rows.Add(control);
      }
    }
  };
  move("little", 1.05);
  std::vector<Verdict> verdicts = JudgePairs(result->rows, {});
  EXPECT_EQ(verdicts[0].verdict(), "cannot_tell");
  EXPECT_EQ(verdicts[0].codes(0), kCodeControlMoved);
  EXPECT_EQ(verdicts[1].verdict(), "slower");
  move("much", 1.2);
  verdicts = JudgePairs(result->rows, {});
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.verdict(), "cannot_tell");
  }
  const Verdict suite = SuiteVerdict(verdicts, {});
  EXPECT_EQ(suite.verdict(), "cannot_tell");
  EXPECT_EQ(suite.codes(0), kCodeControlMoved);
  EXPECT_EQ(suite.reason().find("control: the much workload took 20.0% longer "
                                "after B than after A"),
            0)
      << suite.reason();
}

TEST_F(DuelTest, IdenticalProgramsDoNotRun) {
  const std::string folder = testing::TempDir();
  const std::string a = absl::StrCat(folder, "/same_a");
  const std::string b = absl::StrCat(folder, "/same_b");
  const absl::StatusOr<std::string> program = ReadFile("/bin/true");
  ASSERT_TRUE(program.ok());
  const std::string code = WithoutBuildIds(*program);
  ASSERT_EQ(code.size(), program->size());
  size_t id = 0;
  while (id < code.size() && code[id] == (*program)[id]) ++id;
  ASSERT_LT(id, code.size()) << "/bin/true has no build id";
  std::string other_id = *program;
  other_id[id] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(a, *program).ok());
  ASSERT_TRUE(WriteFileAtomically(b, other_id).ok());
  ASSERT_EQ(chmod(a.c_str(), 0755), 0);
  ASSERT_EQ(chmod(b.c_str(), 0755), 0);
  EXPECT_TRUE(AreSamePrograms(a + " --x=1", b + " --x=1"));
  EXPECT_FALSE(AreSamePrograms(a + " 1", b + " 2"));
  EXPECT_FALSE(AreSamePrograms(a + "; true", b + "; true"));
  DuelOptions options = Plain(a, b, 3);
  options.skip_identical = true;
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->runs, 0);
  ASSERT_EQ(result->verdicts.size(), 1);
  EXPECT_EQ(result->verdicts[0].verdict(), "same");
  EXPECT_EQ(result->verdicts[0].codes(0), kCodeIdentical);
  // One other byte of code, and they run.
  other_id[program->size() - 1] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(b, other_id).ok());
  EXPECT_FALSE(AreSamePrograms(a, b));
  EXPECT_EQ(WithoutBuildIds("#!/bin/sh"), "");
}

// A note that is longer than any id may hold code.
TEST(WithoutBuildIdsTest, OnlyWhatMayBeAnIdIsCleared) {
  for (const uint32_t bytes : {20, 64, 65, 4000}) {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = sizeof(header);
    header.e_phnum = 1;
    Elf64_Phdr segment = {};
    segment.p_type = PT_NOTE;
    segment.p_offset = sizeof(header) + sizeof(segment);
    Elf64_Nhdr note = {4, bytes, NT_GNU_BUILD_ID};
    const std::string id((bytes + 3) / 4 * 4, 'i');
    segment.p_filesz = sizeof(note) + 4 + id.size();
    std::string elf(reinterpret_cast<const char*>(&header), sizeof(header));
    elf.append(reinterpret_cast<const char*>(&segment), sizeof(segment));
    elf.append(reinterpret_cast<const char*>(&note), sizeof(note));
    elf.append("GNU", 4);
    elf += id;
    const std::string code = WithoutBuildIds(elf);
    ASSERT_EQ(code.size(), elf.size());
    EXPECT_EQ(code != elf, bytes <= 64) << bytes;
    // Cut off anywhere, it is not a program.
    EXPECT_EQ(WithoutBuildIds(elf.substr(0, elf.size() - 1)), "");
  }
}

TEST(DuelSummaryTest, CostFollowsTheErrorLevel) {
  DuelOptions options;
  options.looks = DefaultLooks(30);
  EXPECT_EQ(
      DuelCost(options, 1)
          .find("level 2e-05 per job: 8 to 30 pairs per job; a change takes at "
                "least 19, and one of 2% is found 95 times in 100 if pairs "
                "scatter by at most 1."),
      0)
      << DuelCost(options, 1);
  options.error_percent = 5;
  options.looks = DefaultLooks(30, 0.05);
  EXPECT_NE(DuelCost(options, 1).find("at least 8,"), std::string::npos)
      << DuelCost(options, 1);
  options.error_percent = 0;
  options.looks = {10};
  EXPECT_NE(DuelCost(options, 1).find("10 pairs per job, too few to prove a"),
            std::string::npos);
}

TEST(DuelSummaryTest, SaysWhatWasJudged) {
  DuelOptions options;
  DuelResult result;
  const auto judge = [&](const std::string& metrics,
                         const std::vector<std::string>& jobs) {
    options.metrics = *ParseMetricChoice(metrics);
    result.rows = PairedRows(RunStatistic::kTypical, options.metrics);
    for (const std::string& job : jobs) {
      for (int i = 0; i < 24; ++i) {
        for (const char* side : {"a", "b"}) {
          Row row = PairRow(job, i, side, 1);
          row.mutable_pair()->set_position((side[0] == 'b') == (i % 2 == 0));
          row.set_rss_peak_bytes(side[0] == 'b' ? 30 << 20 : 20 << 20);
          result.rows.Add(row);
        }
      }
    }
    result.verdicts = JudgePairs(result.rows, PairedOptions());
    return DuelSummary(options, result);
  };
  EXPECT_NE(judge("time,memory", {"x"}).find("\nmemory worse: "),
            std::string::npos);
  const std::string alone = judge("memory", {"x"});
  EXPECT_NE(alone.find("\nmemory worse: "), std::string::npos) << alone;
  EXPECT_EQ(alone.find("99% sure"), std::string::npos) << alone;
  const std::string many = judge("time,memory", {"x", "y"});
  EXPECT_NE(many.find("lib y: memory worse: "), std::string::npos) << many;
  // Two pairs.
  options.metrics = *ParseMetricChoice("time");
  result.rows = PairedRows(RunStatistic::kTypical, options.metrics);
  for (int i = 0; i < 2; ++i) {
    result.rows.Add(PairRow("x", i, "a", 1 + 9 * i));
    result.rows.Add(PairRow("x", i, "b", 10 - 9 * i));
  }
  result.verdicts = JudgePairs(result.rows, PairedOptions());
  EXPECT_NE(DuelSummary(options, result).find("(2 pairs, which do not bound"),
            std::string::npos)
      << DuelSummary(options, result);
}

TEST_F(DuelTest, ExportsATable) {
  const auto result = Duel(Plain("true", "true ", 2));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(DuelExport(*result, "csv").substr(0, 20), "job,verdict,a_s,b_s,");
  // Rarely, two pairs are so alike that this is `same`.
  const std::string& verdict = result->verdicts[0].verdict();
  EXPECT_NE(
      DuelExport(*result, "csv").find(absl::StrCat("\ntrue,", verdict, ",")),
      std::string::npos);
  EXPECT_NE(DuelExport(*result, "markdown")
                .find(absl::StrCat("| true | ", verdict.substr(0, 4))),
            std::string::npos)
      << DuelExport(*result, "markdown");
  EXPECT_EQ(DuelExport(*result, "json").substr(0, 12), "[\n{\"schema\":");
}

TEST_F(DuelTest, ASideThatDiesIsARowAndTheEnd) {
  const auto result = Duel(Plain("true", "kill -SEGV $$", 3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kRunFailed);
  ASSERT_FALSE(rows_.empty());
  EXPECT_EQ(rows_.back().status(), "crashed");
  EXPECT_EQ(rows_.back().pair().side(), "b");
  EXPECT_EQ(result->verdicts.back().verdict(), "invalid");
}

TEST_F(DuelTest, FailuresCanBeIgnored) {
  DuelOptions options = Plain("exit 1", "exit 1", 2);
  options.ignore_failure = true;
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kDone);
  EXPECT_EQ(rows_.size(), 4);
}

TEST_F(DuelTest, CanBeStopped) {
  DuelOptions options = Plain("sleep 600", "sleep 600", 2);
  options.is_stopped = [] { return true; };
  const auto result = Duel(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, ExitCode::kInterrupted);
  EXPECT_TRUE(rows_.empty());
}

TEST_F(DuelTest, RowsThatWerePromisedAreMissed) {
  DuelOptions options = Plain("true", "true", 2);
  options.timing = DuelTiming::kRows;
  EXPECT_FALSE(Duel(options).ok());
}

TEST(SecondsTextTest, Units) {
  EXPECT_EQ(SecondsText(2), "2.000 s");
  EXPECT_EQ(SecondsText(1), "1.000 s");
  EXPECT_EQ(SecondsText(0.1023), "102.3 ms");
  EXPECT_EQ(SecondsText(0.001), "1.0 ms");
  EXPECT_EQ(SecondsText(3e-6), "3.0 µs");
  EXPECT_EQ(SecondsText(4.123e-7), "412.3 ns");
}

}  // namespace
}  // namespace feedrate
