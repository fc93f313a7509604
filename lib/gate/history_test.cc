#include "lib/gate/history.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

HistoryEntry Entry(int number, double seconds, int runs, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.01);
  HistoryEntry entry;
  entry.revision = absl::StrCat("rev", number);
  for (int run = 0; run < runs; ++run) {
    Row row;
    row.set_job_id("job");
    row.set_transform("Flip");
    row.set_library("opencv");
    row.set_mode("micro");
    row.set_device("cpu");
    row.set_status("ok");
    row.set_machine_profile("m");
    row.add_samples_s(seconds * std::exp(noise(random)));
    entry.rows.push_back(row);
  }
  return entry;
}

TEST(HistoryTest, NamesTheCommitsAroundAStep) {
  std::vector<HistoryEntry> entries;
  for (int i = 0; i < 40; ++i) {
    entries.push_back(Entry(i, i < 20 || i >= 32 ? 1 : 1.06, 3, i));
  }
  entries[7].rows[0].set_samples_s(0, 9);
  const std::vector<ChangePoint> points = FindChangePoints(entries, {});
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].before(), "rev19");
  EXPECT_EQ(points[0].after(), "rev20");
  EXPECT_NEAR(points[0].percent(), 6, 1);
  EXPECT_EQ(points[0].gone_at(), "rev32");
  EXPECT_EQ(points[0].job(), "opencv Flip");
  const std::string text = HistoryText(points, entries, {});
  EXPECT_NE(text.find("after rev19, at the latest in rev20"),
            std::string::npos);
  EXPECT_NE(text.find("went away in rev32"), std::string::npos);
  EXPECT_NE(text.find("2 changes in 1 job"), std::string::npos);
}

TEST(HistoryTest, ReadsFilesInTheOrderOfTheirTimes) {
  const std::string folder = testing::TempDir();
  std::vector<std::string> paths;
  for (const int number : {2, 1}) {
    Env env;
    env.mutable_git()->set_revision(absl::StrCat("r", number));
    Row row;
    row.set_job_id("j");
    row.set_status("ok");
    row.set_started_at(absl::StrCat("2026-01-0", number, "T00:00:00Z"));
    std::string text;
    AppendRecord(env, &text);
    AppendRecord(row, &text);
    paths.push_back(absl::StrCat(folder, "/h", number, ".jsonl"));
    ASSERT_TRUE(WriteFileAtomically(paths.back(), text + "broken\n").ok());
  }
  std::vector<std::string> warnings;
  const auto entries = ReadHistory(
      paths, [&](const std::string& text) { warnings.push_back(text); });
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2);
  EXPECT_EQ((*entries)[0].revision, "r1");
  EXPECT_EQ((*entries)[1].revision, "r2");
  EXPECT_EQ(warnings.size(), 2);
  EXPECT_FALSE(
      ReadHistory({folder + "/none.jsonl"}, [](const std::string&) {}).ok());
}

}  // namespace
}  // namespace feedrate
