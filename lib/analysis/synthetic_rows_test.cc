#include "lib/analysis/synthetic_rows.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

Job MakeJob(const std::string& id) {
  Job job;
  job.set_job_id(id);
  job.set_scenario("image-rgb");
  job.set_library("kornia");
  job.set_transform("Blur");
  job.set_device("cpu");
  job.set_hardware_class("cpu");
  job.set_num_items(1000);
  job.add_run_indexes(0);
  job.add_run_indexes(1);
  return job;
}

TEST(SyntheticRowsTest, TheSameJobGivesTheSameRow) {
  const SyntheticRows rows({});
  EXPECT_EQ(rows.MakeRow(MakeJob("a"), 0).SerializeAsString(),
            SyntheticRows({}).MakeRow(MakeJob("a"), 0).SerializeAsString());
}

TEST(SyntheticRowsTest, NoTwoNumbersAreAlike) {
  SyntheticOptions options;
  options.early_stopped = 0;
  const SyntheticRows rows(options);
  std::set<double> seen;
  for (int i = 0; i < 500; ++i) {
    for (const Row& row : rows.MakeRows(MakeJob(std::to_string(i)))) {
      EXPECT_TRUE(seen.insert(row.throughput()).second);
      EXPECT_DOUBLE_EQ(row.throughput(), row.items() / row.elapsed_s());
    }
  }
  EXPECT_EQ(seen.size(), 1000);
}

TEST(SyntheticRowsTest, UnsupportedJobsAreAnswered) {
  Job job = MakeJob("a");
  job.set_unsupported_reason("no");
  const Row row = SyntheticRows({}).MakeRow(job, 1);
  EXPECT_EQ(row.status(), "unsupported");
  EXPECT_EQ(row.reason(), "no");
  EXPECT_EQ(row.run_index(), 1);
}

TEST(SyntheticRowsTest, TheShareThatStopsEarlyIsKept) {
  SyntheticOptions options;
  options.early_stopped = 0.2;
  const SyntheticRows rows(options);
  int stopped = 0;
  for (int i = 0; i < 2000; ++i) {
    stopped +=
        rows.MakeRow(MakeJob(std::to_string(i)), 0).status() == "early_stopped";
  }
  EXPECT_NEAR(stopped, 400, 80);
}

}  // namespace
}  // namespace feedrate
