#include "lib/analysis/report/report.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/changes.h"
#include "lib/analysis/report/setting.h"
#include "lib/analysis/report/speedups.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/draw/document.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Row> Runs(const std::string& library, const std::string& transform,
                      double throughput) {
  std::vector<Row> rows;
  for (int i = 0; i < 3; ++i) {
    rows.push_back(
        MakeRow(library, transform, throughput * (1 + 0.001 * i), i));
  }
  return rows;
}

std::vector<Row> Together(const std::vector<std::vector<Row>>& parts) {
  std::vector<Row> rows;
  for (const auto& part : parts) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

std::vector<std::string> TitlesOf(const ReportInput& input) {
  std::vector<std::string> titles;
  for (const Section& section : BuildReport(input, {}).sections) {
    if (section.level == 1) titles.push_back(section.id);
  }
  return titles;
}

TEST(ReportTest, PipelinesComeBeforeMicro) {
  ReportInput input;
  input.rows = Together({Runs("a", "Blur", 100), Runs("b", "Blur", 50)});
  Row pipeline = MakeRow("a", "Blur", 10);
  pipeline.set_job_id("p");
  pipeline.set_mode("pipeline");
  input.rows.push_back(pipeline);
  EXPECT_THAT(TitlesOf(input),
              ElementsAre("summary", "pipelines", "micro", "noise"));
}

TEST(ReportTest, LoadersSayWhereTheirTimeGoes) {
  ReportInput input;
  Row row = MakeRow("native", "Blur", 10);
  row.set_mode("pipeline");
  row.set_workers(2);
  LoaderStats* const loader = row.mutable_loader();
  loader->set_startup_s(0.0125);
  loader->set_worker_efficiency(0.75);
  for (const char* name : {"read", "decode"}) {
    LoaderStage* const stage = loader->add_stages();
    stage->set_name(name);
    stage->set_busy_s(name[0] == 'r' ? 1 : 3);
  }
  loader->mutable_diagnosis()->set_verdict("decoding");
  loader->mutable_diagnosis()->set_explanation("decoding takes 80%");
  input.rows = {row};
  const std::string text = ToMarkdown(BuildReport(input, {}), "");
  EXPECT_THAT(text, HasSubstr("native, Blur, workers 2"));
  EXPECT_THAT(text, HasSubstr("12.5"));
  EXPECT_THAT(text, HasSubstr("75%"));
  EXPECT_THAT(text, HasSubstr("25%"));
  EXPECT_THAT(text, HasSubstr("decoding takes 80%"));
}

TEST(ReportTest, FailuresAreListedAndNeverAveraged) {
  ReportInput input;
  input.rows = Runs("a", "Blur", 100);
  input.rows.push_back(MakeRow("b", "Blur", 77777));
  input.rows.back().set_status("failed");
  input.rows.back().set_reason("it broke");
  const std::string text = ToMarkdown(BuildReport(input, {}), "");
  EXPECT_THAT(text, HasSubstr("it broke"));
  EXPECT_EQ(text.find("77,777"), std::string::npos);
}

TEST(ReportTest, NothingIsMixed) {
  std::vector<Row> rows =
      Together({Runs("a", "Blur", 100), Runs("a", "Blur", 200)});
  for (int i = 3; i < 6; ++i) rows[i].set_machine_profile("other");
  EXPECT_EQ(CellsOf(rows).size(), 2u);
  for (int i = 3; i < 6; ++i) {
    rows[i].set_machine_profile("machine");
    rows[i].set_library_version("2.0");
  }
  EXPECT_EQ(CellsOf(rows).size(), 2u);
}

TEST(ReportTest, SpeedUpsNeedTheSameWork) {
  std::vector<Row> rows =
      Together({Runs("a", "Blur", 100), Runs("a", "Flip", 100),
                Runs("b", "Blur", 300), Runs("b", "Flip", 50)});
  for (int i = 9; i < 12; ++i) {
    rows[i].mutable_equivalence()->set_label("different");
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  const auto strict = SpeedUpsOf(settings[0], "a", false);
  ASSERT_EQ(strict->libraries.size(), 1u);
  EXPECT_EQ(strict->libraries[0].lines.size(), 1u);
  EXPECT_NEAR(strict->libraries[0].mean.value, 3, 1e-9);
  EXPECT_TRUE(strict->libraries[0].lines[0].ratio.whiskers.has_value());
  EXPECT_EQ(strict->left_out, 1);
  EXPECT_EQ(SpeedUpsOf(settings[0], "a", true)->left_out, 0);
  EXPECT_FALSE(SpeedUpsOf(settings[0], "nosuch", true).has_value());
}

TEST(ReportTest, SweepsAreFoundAndSortedAsNumbers) {
  std::vector<Row> rows;
  for (const int workers : {10, 2, 0}) {
    rows.push_back(MakeRow("a", "Blur", 100 + workers));
    rows.back().set_workers(workers);
    rows.back().set_job_id("w" + std::to_string(workers));
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_THAT(settings[0].swept, ElementsAre("workers"));
  ASSERT_EQ(settings[0].lines.size(), 3u);
  EXPECT_EQ(settings[0].lines[1].Name(), "Blur, workers=2");
  EXPECT_EQ(settings[0].lines[2].Name(), "Blur, workers=10");
}

TEST(ChangesTest, OnlyIntervalsMakeAChange) {
  const auto word = [](const std::vector<Row>& before,
                       const std::vector<Row>& now) {
    const auto old_cells = CellsOf(before);
    const auto new_cells = CellsOf(now);
    return ChangesBetween(old_cells, new_cells).changes.at(0).word;
  };
  EXPECT_EQ(word(Runs("a", "Blur", 100), Runs("a", "Blur", 200)), "faster");
  EXPECT_EQ(word(Runs("a", "Blur", 200), Runs("a", "Blur", 100)), "slower");
  EXPECT_EQ(word(Runs("a", "Blur", 100), Runs("a", "Blur", 100)), "not shown");
  EXPECT_EQ(word({MakeRow("a", "Blur", 1)}, {MakeRow("a", "Blur", 9)}),
            "cannot tell");
}

TEST(ChangesTest, OtherMachinesAreNotCompared) {
  std::vector<Row> other = Runs("a", "Blur", 100);
  for (Row& row : other) row.set_machine_profile("other");
  const auto before = CellsOf(other);
  const auto now = CellsOf(Runs("a", "Blur", 100));
  const Changes changes = ChangesBetween(before, now);
  EXPECT_TRUE(changes.changes.empty());
  EXPECT_EQ(changes.only_now, 1);
  EXPECT_EQ(changes.only_before, 1);
}

}  // namespace
}  // namespace feedrate
