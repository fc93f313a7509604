#include "lib/analysis/row_settings.h"

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

Row MakeRow(const char* profile, const char* version) {
  Row row;
  row.set_status("ok");
  row.set_machine_profile(profile);
  row.set_library_version(version);
  return row;
}

TEST(RowSettingsTest, EqualSettingsHaveOneNumber) {
  RowSettings settings;
  const auto id = settings.Id(MakeRow("a", "1"));
  EXPECT_EQ(settings.Id(MakeRow("a", "1")), id);
  EXPECT_NE(settings.Id(MakeRow("a", "2")), id);
  EXPECT_EQ(settings.Get(id)[RowSettings::kMachineProfile], "a");
}

TEST(RowSettingsTest, DifferencesNameFieldsAndValues) {
  RowSettings settings;
  const auto a = settings.Id(MakeRow("m", "1"));
  const auto b = settings.Id(MakeRow("n", "2"));
  EXPECT_EQ(settings.Differences({a, b}),
            "machine_profile (m, n), library_version (1, 2)");
  EXPECT_EQ(settings.Differences({b, a, b}), settings.Differences({a, b}));
  EXPECT_EQ(settings.Differences({a, a}), "");
  EXPECT_EQ(settings.Differences({}), "");
}

TEST(RowSettingsTest, WhatIsLeftOutDiffersFromNothing) {
  RowSettings settings;
  const auto whole = settings.Id(MakeRow("m", "1"));
  const auto part = settings.Id(MakeRow("m", ""));
  const auto other = settings.Id(MakeRow("m", "2"));
  EXPECT_EQ(settings.Differences({whole, part}), "");
  EXPECT_EQ(settings.Differences({whole, part, other}),
            "library_version (1, 2)");
}

TEST(RowSettingsTest, LabelsThatChooseATableCount) {
  RowSettings settings;
  Row cold = MakeRow("m", "1");
  cold.add_labels("cold");
  Row optional = MakeRow("m", "1");
  optional.add_labels("optional");
  const auto warm = settings.Id(MakeRow("m", "1"));
  EXPECT_EQ(settings.Id(optional), warm);
  EXPECT_EQ(settings.Differences({warm, settings.Id(cold)}),
            "labels (cold, none)");
}

}  // namespace
}  // namespace feedrate
