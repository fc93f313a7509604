#include "lib/gate/baseline_store.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

class BaselineStoreTest : public testing::Test {
 protected:
  BaselineStoreTest()
      : folder_(absl::StrCat(
            testing::TempDir(), "/",
            testing::UnitTest::GetInstance()->current_test_info()->name())),
        store_(folder_) {
    EXPECT_TRUE(MakeFolder(folder_).ok());
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/" + name, text).ok());
  }
  static std::string RowText(const std::string& profile) {
    Row row;
    row.set_job_id("j");
    row.set_status("ok");
    row.set_machine_profile(profile);
    std::string text;
    AppendRecord(row, &text);
    return text;
  }
  const std::string folder_;
  const BaselineStore store_;
};

TEST_F(BaselineStoreTest, ListsMachines) {
  Write("a.metrics.json", "x");
  Write("b_2c.rows.jsonl", "x");
  Write("a.eval.json", "x");
  Write("c.calibration.jsonl", "x");
  EXPECT_EQ(*store_.Profiles(), (std::vector<std::string>{"a", "b_2c"}));
  EXPECT_FALSE(BaselineStore(folder_ + "/none").Profiles().ok());
}

TEST_F(BaselineStoreTest, WhatIsNotThereIsNone) {
  EXPECT_FALSE(store_.ReadMetrics("a")->has_value());
  EXPECT_FALSE(store_.ReadEval("a")->has_value());
  EXPECT_FALSE(store_.ReadRows("a")->has_value());
  EXPECT_TRUE(store_.ReadCalibrations("a")->empty());
}

TEST_F(BaselineStoreTest, RefusesFilesOfAnotherMachine) {
  Write("a.metrics.json", "{\"machine_profile\":\"b\",\"x\":1}");
  Write("a.rows.jsonl", RowText("b"));
  EXPECT_FALSE(store_.ReadMetrics("a").ok());
  EXPECT_FALSE(store_.ReadRows("a").ok());
  EXPECT_NE(store_.ReadRows("a").status().message().find("machine \"b\""),
            std::string::npos);
}

TEST_F(BaselineStoreTest, RefusesTornTamperedAndEmptyRows) {
  const std::string good = RowText("a");
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() - 5),
        good + "{\"x\":", good + "rubbish\n", good + good.substr(0, 30) + "\n",
        std::string("{\"schema\":1,\"record\":\"row\"}\n"),
        std::string("{\"schema\":99,\"record\":\"row\",\"job_id\":\"j\"}\n"),
        std::string("{\"schema\":1,\"record\":\"row\",\"job_id\":3}\n")}) {
    Write("a.rows.jsonl", text);
    const auto rows = store_.ReadRows("a");
    EXPECT_FALSE(rows.ok()) << text;
    EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(*ReadFile(folder_ + "/a.rows.jsonl"), text);
  }
  Write("a.rows.jsonl", good);
  EXPECT_TRUE(store_.ReadRows("a").ok());
}

TEST_F(BaselineStoreTest, ReadsFloors) {
  Calibration calibration;
  calibration.set_job_id("j");
  calibration.set_machine_profile("a");
  std::string text;
  AppendRecord(calibration, &text);
  calibration.set_job_id("k");
  calibration.set_floor_percent(3);
  AppendRecord(calibration, &text);
  Write("a.calibration.jsonl", text);
  const auto read = store_.ReadCalibrations("a");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(FloorsOf(*read).at("k"), 3);
  EXPECT_GE(FloorsOf(*read).at("j"), 1000);
  Write("b.calibration.jsonl", text);
  EXPECT_FALSE(store_.ReadCalibrations("b").ok());
}

TEST(LastAttemptsTest, TheLastAttemptCounts) {
  std::vector<Row> rows(3);
  for (Row& row : rows) row.set_job_id("j");
  rows[0].set_attempt(1);
  rows[0].set_throughput(5);
  rows[2].set_run_index(1);
  const RowsByJob by_job = LastAttempts(rows);
  ASSERT_EQ(by_job.at("j").size(), 2);
  EXPECT_EQ(by_job.at("j")[0].throughput(), 5);
}

}  // namespace
}  // namespace feedrate
