#include "lib/gate/duel/duel_sides.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/testing_rows.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

TEST(RowsInTest, ResultsOfAnotherHarnessAreRows) {
  int broken = 0;
  const std::string start =
      R"({"context": {"executable": "x", "num_cpus": 2}, "benchmarks": [)";
  const std::vector<Row> rows = *RowsIn(
      start + R"({"name": "BM_a", "real_time": 3, "time_unit": "ms"}]})",
      &broken);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].transform(), "BM_a");
  EXPECT_EQ(rows[0].samples_s(0), 0.003);
  // The duel knows the machine better than the file.
  EXPECT_EQ(rows[0].machine_profile(), "");
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(RowsIn(start, &broken).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DuelSideTest, FindsRowsAmongOtherThings) {
  int broken = 0;
  const std::vector<Row> rows = *RowsIn(
      "hello\n{\"schema\":1,\"record\":\"env\"}\n"
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"x\",\"status\":\"ok\"}\n"
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"y\",\"sta",
      &broken);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].job_id(), "x");
  EXPECT_EQ(broken, 1);
}

TEST(DuelSideTest, JobsGoBehindOrWhereTheyAreWanted) {
  EXPECT_EQ(CommandWithJobs("micro", ""), "micro");
  EXPECT_EQ(CommandWithJobs("micro", "f"), "micro --jobs=f");
  EXPECT_EQ(CommandWithJobs("micro {jobs} | tee x", "f"),
            "micro --jobs=f | tee x");
  EXPECT_EQ(CommandWithJobs("micro {jobs}", ""), "micro ");
}

TEST(DuelSideTest, APlainRunIsOneSample) {
  TimedCommandResult result;
  result.wall_s = 0.5;
  result.rss_peak_bytes = 4096;
  const Row row = WallRow("sleep", result);
  EXPECT_EQ(row.status(), "ok");
  EXPECT_EQ(row.unit(), "sample");
  EXPECT_DOUBLE_EQ(row.throughput(), 2);
  ASSERT_EQ(row.samples_s_size(), 1);
  EXPECT_EQ(row.job_id().size(), 16);
  EXPECT_EQ(row.job_id(), FailureRow("sleep", result).job_id());
  EXPECT_NE(row.job_id(), WallRow("sleep 1", result).job_id());
}

// A shell command that prints rows of two jobs. `two` takes `seconds`. Prints
// only `two` when told which jobs to run.

}  // namespace
}  // namespace feedrate
