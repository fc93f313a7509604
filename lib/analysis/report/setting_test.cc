#include "lib/analysis/report/setting.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/testing/rows.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(SettingsOfTest, ALibraryHasItsColourEverywhere) {
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
