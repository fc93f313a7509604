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
  std::string refused;
  const std::string start =
      R"({"context": {"executable": "x", "num_cpus": 2}, "benchmarks": [)";
  const std::vector<Row> rows = *RowsIn(
      start + R"({"name": "BM_a", "real_time": 3, "time_unit": "ms"}]})",
      &refused);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].transform(), "BM_a");
  EXPECT_EQ(rows[0].samples_s(0), 0.003);
  // The duel knows the machine better than the file.
  EXPECT_EQ(rows[0].machine_profile(), "");
  EXPECT_EQ(refused, "");
  EXPECT_EQ(RowsIn(start, &refused).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DuelSideTest, FindsRowsAmongOtherThings) {
  const std::string start = R"({"schema":1,"record":"row",)";
  const std::string good = "hello\n{\"schema\":1,\"record\":\"env\"}\n" +
                           start + "\"job_id\":\"x\",\"status\":\"ok\"}\n";
  std::string refused;
  std::vector<Row> rows = *RowsIn(good + "{\"level\": 3, torn\n", &refused);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].job_id(), "x");
  EXPECT_EQ(refused, "");
  for (const char* rest : {R"("job_id":"y","sta)", R"("status":"ok"})",
                           R"("job_id":"y","throughput":"fast"})",
                           R"("job_id":"y","throughput":1,"throughput":2})"}) {
    refused.clear();
    rows = *RowsIn(good + start + rest, &refused);
    EXPECT_EQ(rows.size(), 1);
    EXPECT_EQ(refused.substr(0, 8), "line 4: ") << rest;
  }
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
