#include "lib/analysis/report/input.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/mixture/testing/batches.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/base/files.h"
#include "lib/records/json.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string TextOf(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) AppendRecord(row, &text);
  return text;
}

std::string Written(const std::string& name, const std::string& text) {
  const std::string path = JoinPath(::testing::TempDir(), name);
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

ReportInput Read(const std::vector<std::string>& paths,
                 std::vector<std::string>* complaints = nullptr) {
  const auto input = ReadReportInput(paths, [&](const std::string& complaint) {
    if (complaints != nullptr) complaints->push_back(complaint);
  });
  EXPECT_TRUE(input.ok()) << input.status();
  return input.value_or(ReportInput());
}

TEST(ReportInputTest, TheLastAttemptCountsInWhateverOrder) {
  Row first = MakeRow("a", "Blur", 1);
  first.set_status("crashed");
  first.clear_library_version();
  Row second = MakeRow("a", "Blur", 2);
  second.set_attempt(1);
  const std::string one = Written("one.jsonl", TextOf({first}));
  const std::string two = Written("two.jsonl", TextOf({second}));
  for (const auto& paths : {std::vector<std::string>{one, two}, {two, one}}) {
    const ReportInput input = Read(paths);
    ASSERT_EQ(input.rows.size(), 1u);
    EXPECT_EQ(input.rows[0].throughput(), 2);
    EXPECT_EQ(input.replaced_rows, 1);
  }
}

TEST(ReportInputTest, OtherRunsMachinesAndPairsAllCount) {
  Row other_machine = MakeRow("a", "Blur", 2);
  other_machine.set_machine_profile("other");
  Row pair = MakeRow("a", "Blur", 3);
  pair.mutable_pair()->set_side("a");
  Row next_pair = pair;
  next_pair.mutable_pair()->set_index(1);
  const ReportInput input = Read({Written(
      "all.jsonl", TextOf({MakeRow("a", "Blur", 1), MakeRow("a", "Blur", 1, 1),
                           other_machine, pair, next_pair}))});
  EXPECT_EQ(input.rows.size(), 5u);
  EXPECT_EQ(input.replaced_rows, 0);
}

TEST(ReportInputTest, RawTimingsAreNotKept) {
  Row row = MakeRow("a", "Blur", 1);
  row.add_samples_s(0.5);
  EXPECT_EQ(Read({Written("s.jsonl", TextOf({row}))}).rows[0].samples_s_size(),
            0);
}

TEST(ReportInputTest, EnvsAndRunsOnceEachOthersCounted) {
  Env env;
  env.set_env_id("e");
  feedrate::Run run;
  run.set_run_id("r");
  std::string text;
  AppendRecord(env, &text);
  AppendRecord(run, &text);
  AppendRecord(env, &text);
  text += "{\"schema\":1,\"record\":\"unheard_of\"}\n";
  const ReportInput input = Read({Written("env.jsonl", text)});
  EXPECT_EQ(input.envs.size(), 1u);
  EXPECT_EQ(input.runs.size(), 1u);
  EXPECT_THAT(input.passed_over, ElementsAre(Pair("unheard_of", 1)));
}

TEST(ReportInputTest, BatchesAreKept) {
  std::string text;
  AppendRecord(MakeBatch(3, {{"a", 5}, {"b", 1}}), &text);
  const ReportInput input = Read({Written("batches.jsonl", text)});
  ASSERT_EQ(input.batches.size(), 1u);
  EXPECT_EQ(input.batches[0].batch_index(), 3);
  EXPECT_EQ(input.batches[0].counts(1).dataset(), "b");
  EXPECT_THAT(input.passed_over, IsEmpty());
}

TEST(ReportInputTest, BrokenLinesAreNamedAndTheRestIsRead) {
  std::vector<std::string> complaints;
  const ReportInput input =
      Read({Written("broken.jsonl", TextOf({MakeRow("a", "Blur", 1)}) +
                                        "no record\n" +
                                        TextOf({MakeRow("b", "Blur", 1)}))},
           &complaints);
  EXPECT_EQ(input.rows.size(), 2u);
  EXPECT_EQ(input.broken_lines, 1);
  EXPECT_THAT(complaints, ElementsAre(HasSubstr("broken.jsonl:2")));
}

TEST(ReportInputTest, FoldersAreSearched) {
  const std::string folder = JoinPath(::testing::TempDir(), "folder/below");
  ASSERT_TRUE(MakeFolder(folder).ok());
  Written("folder/one.jsonl", TextOf({MakeRow("a", "Blur", 1)}));
  Written("folder/below/two.jsonl", TextOf({MakeRow("b", "Blur", 1)}));
  Written("folder/note.txt", "no rows");
  EXPECT_EQ(Read({JoinPath(::testing::TempDir(), "folder")}).rows.size(), 2u);
}

TEST(ReportInputTest, WhatIsNotThereIsAMistake) {
  EXPECT_EQ(ReadReportInput({"nowhere.jsonl"}, nullptr).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace feedrate
