#include "lib/analysis/report/report_data.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/testing/rows.h"
#include "lib/base/files.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string LinesOf(const std::vector<Row>& rows) {
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
  const std::string one = Written("one.jsonl", LinesOf({first}));
  const std::string two = Written("two.jsonl", LinesOf({second}));
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
      "all.jsonl", LinesOf({MakeRow("a", "Blur", 1), MakeRow("a", "Blur", 1, 1),
                            other_machine, pair, next_pair}))});
  EXPECT_EQ(input.rows.size(), 5u);
  EXPECT_EQ(input.replaced_rows, 0);
}

TEST(ReportInputTest, RawTimingsAreNotKept) {
  Row row = MakeRow("a", "Blur", 1);
  row.add_samples_s(0.5);
  EXPECT_EQ(Read({Written("s.jsonl", LinesOf({row}))}).rows[0].samples_s_size(),
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

// Their sum would overflow.
TEST(ReportInputTest, BatchesWithImpossibleCountsAreLeftOut) {
  std::string text;
  AppendRecord(MakeBatch(0, {{"a", 1}}), &text);
  AppendRecord(MakeBatch(1, {{"a", INT64_MAX}}), &text);
  AppendRecord(MakeBatch(2, {{"a", -1}}), &text);
  std::vector<std::string> complaints;
  const ReportInput input = Read({Written("batches.jsonl", text)}, &complaints);
  EXPECT_EQ(input.batches.size(), 1u);
  EXPECT_THAT(complaints,
              ElementsAre(HasSubstr("9223372036854775807 is not a number"),
                          HasSubstr("-1 is not a number")));
}

TEST(ReportInputTest, BrokenLinesAreNamedAndTheRestIsRead) {
  std::vector<std::string> complaints;
  const ReportInput input =
      Read({Written("broken.jsonl", LinesOf({MakeRow("a", "Blur", 1)}) +
                                        "no record\n" +
                                        LinesOf({MakeRow("b", "Blur", 1)}))},
           &complaints);
  EXPECT_EQ(input.rows.size(), 2u);
  EXPECT_EQ(input.broken_lines, 1);
  EXPECT_EQ(input.refused_records, 0);
  EXPECT_THAT(complaints, ElementsAre(HasSubstr("broken.jsonl:2")));
  complaints.clear();
  Row silent = MakeRow("b", "Blur", std::nan(""));
  silent.set_status("failed");
  EXPECT_EQ(
      Read({Written("none.jsonl", LinesOf({MakeRow("a", "Blur", std::nan("")),
                                           MakeRow("a", "Flip", 0), silent}))},
           &complaints)
          .rows.size(),
      1);
  EXPECT_THAT(complaints,
              Each(HasSubstr("\"throughput\" is not a number above")));
  EXPECT_EQ(complaints.size(), 2);
}

// A record that was read in part must not be in the report.
TEST(ReportInputTest, ABrokenVerdictIsLeftOut) {
  const ReportInput input =
      Read({Written("verdict.jsonl",
                    "{\"schema\":1,\"record\":\"verdict\",\"job\":\"a\","
                    "\"pairs\":\"x\"}\n")});
  EXPECT_TRUE(input.verdicts.empty());
  EXPECT_EQ(input.refused_records, 1);
}

TEST(ReportInputTest, FoldersAreSearched) {
  const std::string folder = JoinPath(::testing::TempDir(), "folder/below");
  ASSERT_TRUE(MakeFolder(folder).ok());
  Written("folder/one.jsonl", LinesOf({MakeRow("a", "Blur", 1)}));
  Written("folder/below/two.jsonl", LinesOf({MakeRow("b", "Blur", 1)}));
  Written("folder/note.txt", "no rows");
  EXPECT_EQ(Read({JoinPath(::testing::TempDir(), "folder")}).rows.size(), 2u);
}

TEST(ReportInputTest, WhatIsNotThereIsAMistake) {
  EXPECT_EQ(ReadReportInput({"nowhere.jsonl"}, nullptr).status().code(),
            absl::StatusCode::kNotFound);
}

std::vector<Row> Runs(const std::vector<double>& throughputs) {
  std::vector<Row> rows;
  for (size_t i = 0; i < throughputs.size(); ++i) {
    rows.push_back(MakeRow("a", "Blur", throughputs[i], static_cast<int>(i)));
  }
  return rows;
}

TEST(CellsOfTest, RunsOfAJobAreOneCell) {
  const std::vector<ReportCell> cells = CellsOf(Runs({100, 300, 200}));
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].runs, 3);
  EXPECT_EQ(cells[0].summary->median, 200);
  EXPECT_TRUE(cells[0].summary->interval.has_value());
  EXPECT_EQ(cells[0].Text(), "200");
}

TEST(CellsOfTest, WhatMustNotBeMixedIsApart) {
  std::vector<Row> rows = Runs({1, 2, 3, 4, 5});
  rows[0].set_machine_profile("other");
  rows[1].set_library_version("2.0");
  rows[2].mutable_dataset()->set_sha256("other");
  rows[3].add_labels("cold");
  rows[4].mutable_pair()->set_side("b");
  EXPECT_EQ(CellsOf(rows).size(), 5u);
}

TEST(CellsOfTest, AnOkRunBeatsAFailedOne) {
  std::vector<Row> rows = Runs({100, 0});
  rows[1].set_status("oom");
  rows[1].set_reason("8 GiB");
  const std::vector<ReportCell> cells = CellsOf(rows);
  EXPECT_EQ(cells[0].status, "ok");
  EXPECT_EQ(cells[0].failed_runs, 1);
  EXPECT_THAT(cells[0].throughputs, ElementsAre(100));
}

TEST(CellsOfTest, WithoutAnOkRunThereIsNoNumber) {
  std::vector<Row> rows = Runs({0});
  rows[0].set_status("oom");
  rows[0].set_reason("8 GiB");
  const std::vector<ReportCell> cells = CellsOf(rows);
  EXPECT_FALSE(cells[0].summary.has_value());
  EXPECT_EQ(cells[0].Text(), "oom");
  EXPECT_THAT(cells[0].Story(), HasSubstr("oom: 8 GiB"));
}

TEST(CellsOfTest, EarlyStoppedShowsWhatThePreflightSaw) {
  std::vector<Row> rows = Runs({12.3});
  rows[0].set_status("early_stopped");
  EXPECT_EQ(CellsOf(rows)[0].Text(), "≤ 12.3");
}

TEST(CellsOfTest, PeaksAndWarningsAreOverAllRuns) {
  std::vector<Row> rows = Runs({100, 200});
  rows[0].set_rss_peak_bytes(5);
  rows[1].set_rss_peak_bytes(3);
  rows[1].mutable_gpu_memory()->set_peak_allocated_bytes(9);
  rows[0].add_warnings("noisy");
  rows[1].add_warnings("noisy");
  const std::vector<ReportCell> cells = CellsOf(rows);
  EXPECT_EQ(cells[0].rss_peak_bytes, 5);
  EXPECT_EQ(cells[0].gpu_peak_bytes, 9);
  EXPECT_THAT(cells[0].warnings, ElementsAre(Pair("noisy", 2)));
  EXPECT_THAT(cells[0].Story(), HasSubstr("noisy in 2 of 2 runs"));
}

TEST(ReportCellTest, StoryTellsWhyThereIsNoInterval) {
  EXPECT_THAT(CellsOf(Runs({100}))[0].Story(),
              HasSubstr("no interval: fewer than 3 runs"));
  EXPECT_THAT(CellsOf(Runs({100, 101, 102}))[0].Story(),
              HasSubstr("95% interval "));
}

TEST(ReportCellTest, UnstableAboveFifteenPerCent) {
  EXPECT_FALSE(CellsOf(Runs({100, 110, 120}))[0].IsUnstable());
  EXPECT_TRUE(CellsOf(Runs({100, 150, 200}))[0].IsUnstable());
}

TEST(ReportCellTest, TakesPartWithItsWorkAndItsNoise) {
  std::vector<Row> rows = Runs({100, 101, 102});
  for (Row& row : rows) row.mutable_equivalence()->set_label("different");
  rows[0].add_warnings("contended");
  rows[1].add_warnings("migrated");
  const ReportCell cell = CellsOf(rows)[0];
  EXPECT_EQ(cell.AsContestant(false).work, Work::kOther);
  EXPECT_EQ(cell.AsContestant(true).work, Work::kSame);
  EXPECT_EQ(cell.AsContestant(true).disturbed, 1);
  EXPECT_EQ(cell.AsContestant(true).summary.n, 3);
}

Row Swept(int workers, double throughput) {
  Row row = MakeRow("a", "Blur", throughput);
  row.set_mode("pipeline");
  row.set_workers(workers);
  row.set_job_id("w" + std::to_string(workers));
  return row;
}

TEST(SettingsOfTest, LinesAreTransformsColumnsLibraries) {
  const std::vector<ReportCell> cells =
      CellsOf({MakeRow("b", "Blur", 1), MakeRow("a", "Blur", 2),
               MakeRow("a", "Flip", 3)});
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  const Setting& setting = settings[0];
  EXPECT_EQ(setting.id, "micro-image-rgb-cpu");
  EXPECT_THAT(setting.libraries, ElementsAre("a", "b"));
  ASSERT_EQ(setting.lines.size(), 2u);
  EXPECT_EQ(setting.lines[1].Name(), "Flip");
  ASSERT_NE(setting.Find(1, 0), nullptr);
  EXPECT_EQ(setting.Find(1, 0)->summary->median, 3);
  EXPECT_EQ(setting.Find(1, 1), nullptr);
  EXPECT_THAT(setting.swept, IsEmpty());
}

TEST(SettingsOfTest, PipelinesComeFirstAndNullIsLeftOut) {
  Row pipeline = MakeRow("a", "Blur", 1);
  pipeline.set_mode("pipeline");
  pipeline.set_job_id("p");
  const std::vector<ReportCell> cells =
      CellsOf({MakeRow("a", "Blur", 1), pipeline, MakeRow("null", "Blur", 1)});
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].mode, "pipeline");
  EXPECT_THAT(settings[1].libraries, ElementsAre("a"));
}

TEST(SettingsOfTest, SweepsAreInTheOrderOfNumbers) {
  const std::vector<ReportCell> cells =
      CellsOf({Swept(10, 3), Swept(2, 2), Swept(0, 1)});
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_THAT(settings[0].swept, ElementsAre("workers"));
  std::vector<std::string> names;
  for (const Setting::Line& line : settings[0].lines) {
    names.push_back(line.Name());
  }
  EXPECT_THAT(names, ElementsAre("Blur, workers=0", "Blur, workers=2",
                                 "Blur, workers=10"));
}

// Each line named all axes, and the page had the square of its rows.
TEST(SettingsOfTest, ThousandsOfSettingsAreNamedWhereTheyAreSet) {
  std::vector<Row> rows;
  for (int i = 0; i < 3000; ++i) {
    rows.push_back(MakeRow("a", "Blur", 1));
    rows.back().set_job_id(absl::StrCat(i));
    if (i == 0) continue;
    (*rows.back().mutable_settings())[absl::StrCat("s", i)] = "1";
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  ASSERT_EQ(cells.size(), 3000u);
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_EQ(settings[0].swept.size(), 2999u);
  ASSERT_EQ(settings[0].lines.size(), 3000u);
  std::set<std::string> points;
  for (const Setting::Line& line : settings[0].lines) points.insert(line.point);
  EXPECT_EQ(points.count("no setting"), 1u);
  EXPECT_EQ(points.count("s7=1"), 1u);
  EXPECT_EQ(points.size(), 3000u);
}

TEST(SettingsOfTest, WhatIsNotSetComesBehindNumbers) {
  std::vector<Row> rows(4, MakeRow("a", "Blur", 1));
  const std::vector<std::string> values = {"", "fast", "10", "9"};
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].set_job_id(absl::StrCat(i));
    if (!values[i].empty()) (*rows[i].mutable_settings())["mode"] = values[i];
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  std::vector<std::string> points;
  for (const Setting::Line& line : settings[0].lines) {
    points.push_back(line.point);
  }
  EXPECT_THAT(points, ElementsAre("mode=9", "mode=10", "mode=", "mode=fast"));
}

TEST(SettingsOfTest, MachinesAreTablesOfTheirOwn) {
  Row other = MakeRow("a", "Blur", 2);
  other.set_machine_profile("other");
  const std::vector<ReportCell> cells =
      CellsOf({MakeRow("a", "Blur", 1), other});
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_NE(settings[0].id, settings[1].id);
  EXPECT_THAT(settings[0].title, HasSubstr("machine"));
  EXPECT_THAT(settings[1].title, HasSubstr("other"));
}

TEST(SettingsOfTest, TitlesSayWhatTellsThemApartAndNoMore) {
  std::vector<Row> rows(3, MakeRow("a", "Blur", 1));
  for (int i = 0; i < 3; ++i) {
    rows[i].set_job_id(std::to_string(i));
    rows[i].mutable_dataset()->set_id(i == 0 ? "one" : "two");
    rows[i].mutable_dataset()->set_sha256(i == 2 ? "abc" : "def");
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  std::set<std::string> titles;
  for (const Setting& setting : SettingsOf(cells)) titles.insert(setting.title);
  EXPECT_EQ(titles.size(), 3u);
  rows.pop_back();
  const std::vector<ReportCell> two = CellsOf(rows);
  EXPECT_EQ(SettingsOf(two)[1].title, "image-rgb, cpu, two");
}

TEST(SettingsOfTest, VersionsAndSidesStandSideBySide) {
  Row newer = MakeRow("a", "Blur", 2);
  newer.set_library_version("2.0");
  const std::vector<ReportCell> versions =
      CellsOf({MakeRow("a", "Blur", 1), newer});
  const Setting setting = SettingsOf(versions)[0];
  EXPECT_THAT(setting.libraries, ElementsAre("a 1.0", "a 2.0"));
  EXPECT_EQ(std::set<int>(setting.colors.begin(), setting.colors.end()).size(),
            2u);
  Row a = MakeRow("a", "Blur", 1);
  a.mutable_pair()->set_side("a");
  Row b = a;
  b.mutable_pair()->set_side("b");
  const std::vector<ReportCell> sides = CellsOf({a, b});
  EXPECT_THAT(SettingsOf(sides)[0].libraries, ElementsAre("a (a)", "a (b)"));
}

TEST(SettingsOfTest, ALibraryHasItsColorEverywhere) {
  Row pipeline = MakeRow("c", "Blur", 1);
  pipeline.set_mode("pipeline");
  const std::vector<ReportCell> cells =
      CellsOf({MakeRow("a", "Blur", 1), MakeRow("c", "Blur", 1), pipeline});
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].colors[0], settings[1].colors[1]);
}

TEST(SettingsOfTest, DescriptionNamesWhatHoldsForAll) {
  Row row = MakeRow("a", "Blur", 1);
  row.set_num_items(2000);
  row.set_params_profile("paper");
  const std::vector<ReportCell> cells = CellsOf({row});
  const std::vector<Setting> settings = SettingsOf(cells);
  EXPECT_EQ(settings[0].description,
            "Machine `machine`; 2000 items; parameters `paper`.");
}

}  // namespace
}  // namespace feedrate
