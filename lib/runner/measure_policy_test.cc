#include "lib/runner/measure_policy.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

TEST(MeasurePolicyTest, TheConfigGoesBeforeThePolicy) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  Execution execution;
  auto policy = JobPolicyOf(*catalogue, execution, job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->unit, "image");
  EXPECT_DOUBLE_EQ(policy->preflight.slow_threshold_s, 0.05);
  EXPECT_TRUE(policy->preflight.slow_skip);
  EXPECT_DOUBLE_EQ(policy->warm_up.max_s, 2);
  EXPECT_GT(policy->warm_up.hang_s, 0);
  execution.set_slow_threshold_s(1);
  execution.set_disable_slow_skip(true);
  policy = JobPolicyOf(*catalogue, execution, job, 7);
  EXPECT_DOUBLE_EQ(policy->preflight.slow_threshold_s, 1);
  EXPECT_FALSE(policy->preflight.slow_skip);
  EXPECT_DOUBLE_EQ(policy->warm_up.hang_s, 7);
}

TEST(MeasurePolicyTest, ClipsHaveTheirOwn) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("video-16f");
  job.set_mode("micro");
  const auto policy = JobPolicyOf(*catalogue, Execution(), job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->unit, "clip");
  EXPECT_EQ(policy->preflight.items, 3);
  EXPECT_EQ(policy->warm_up.subset_items, 3);
}

TEST(MeasurePolicyTest, AGpuIsTimedInChunks) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  job.set_device("cuda");
  auto policy = JobPolicyOf(*catalogue, Execution(), job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->chunk.fixed, 64);
  EXPECT_EQ(policy->warm_up.chunk, 64);
  EXPECT_TRUE(policy->warm_up.cold);
  EXPECT_GT(policy->warm_up.clock_within, 0);
  (*job.mutable_settings())["gpu_batch"] = "256";
  (*job.mutable_settings())["l2"] = "hot";
  policy = JobPolicyOf(*catalogue, Execution(), job, 0);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->chunk.fixed, 256);
  EXPECT_EQ(policy->preflight.chunk, 256);
  EXPECT_FALSE(policy->warm_up.cold);
  (*job.mutable_settings())["l2"] = "lukewarm";
  EXPECT_FALSE(JobPolicyOf(*catalogue, Execution(), job, 0).ok());
}

}  // namespace
}  // namespace feedrate
