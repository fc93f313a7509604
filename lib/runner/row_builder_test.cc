#include "lib/runner/row_builder.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(RowBuilderTest, ARowSaysWhatItsJobAndRunAre) {
  Job job;
  job.set_job_id("0123456789abcdef");
  job.set_library("pillow");
  job.set_dataset("val");
  job.add_labels("optional");
  (*job.mutable_settings())["prefetch"] = "2";
  const Row row = RowOf(job, {"run", "env", "profile", "Xeon", ""}, "image");
  EXPECT_EQ(row.job_id(), job.job_id());
  EXPECT_EQ(row.library(), "pillow");
  EXPECT_EQ(row.dataset().id(), "val");
  EXPECT_EQ(row.settings().at("prefetch"), "2");
  EXPECT_THAT(row.labels(), ElementsAre("optional"));
  EXPECT_EQ(row.run_id(), "run");
  EXPECT_EQ(row.env_id(), "env");
  EXPECT_EQ(row.machine_profile(), "profile");
  EXPECT_EQ(row.hardware(), "Xeon");
  EXPECT_EQ(row.unit(), "image");
}

TEST(RowBuilderTest, FailuresHaveTheirStatus) {
  EXPECT_EQ(StatusOfFailure(absl::AbortedError("")), "crashed");
  EXPECT_EQ(StatusOfFailure(absl::DeadlineExceededError("")), "timeout");
  EXPECT_EQ(StatusOfFailure(absl::ResourceExhaustedError("")), "oom");
  EXPECT_EQ(StatusOfFailure(absl::UnknownError("")), "failed");
  EXPECT_EQ(StatusOfFailure(absl::DataLossError("")), "failed");
  EXPECT_EQ(StatusOfFailure(absl::UnavailableError("")), "failed");
  Row row;
  SetFailure(absl::AbortedError("killed by SIGSEGV"), &row);
  EXPECT_EQ(row.status(), "crashed");
  EXPECT_EQ(row.reason(), "killed by SIGSEGV");
}

TEST(RowBuilderTest, TimingsKeepTheirOrderAndGetQuantiles) {
  RunResult result;
  result.timing.samples_s = {0.3, 0.1, 0.2};
  result.timing.items = 3;
  result.elapsed_s = 0.6;
  result.warnings = {"noisy"};
  Row row;
  SetTiming(result, &row);
  EXPECT_EQ(row.status(), "ok");
  EXPECT_THAT(row.samples_s(), ElementsAre(0.3, 0.1, 0.2));
  EXPECT_DOUBLE_EQ(row.throughput(), 5);
  EXPECT_DOUBLE_EQ(row.p50_s(), 0.2);
  EXPECT_EQ(row.timed_unit(), "item");
  EXPECT_THAT(row.warnings(), ElementsAre("noisy"));
  result.chunk = 2;
  SetTiming(result, &row);
  EXPECT_EQ(row.timed_unit(), "chunk");
}

TEST(RowBuilderTest, TimesAreRfc3339) {
  EXPECT_EQ(TimeText(absl::FromUnixMillis(1700000000123)),
            "2023-11-14T22:13:20.123Z");
}

}  // namespace
}  // namespace feedrate
