#include "lib/runner/null_job.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(NullJobTest, IsOnTheSameDataUnderTheSameSettings) {
  Job job;
  job.set_scenario("image-9ch");
  job.set_mode("micro");
  job.set_library("kornia");
  job.set_transform("Resize");
  job.set_num_items(40);
  job.set_dataset("val");
  job.set_thread_policy("micro-single");
  job.set_params_profile("paper");
  job.set_unsupported_reason("cannot");
  job.add_run_indexes(3);
  job.add_labels("optional");
  const Job null = NullJob(job);
  EXPECT_EQ(null.library(), "null");
  EXPECT_EQ(null.scenario(), "image-9ch");
  EXPECT_EQ(null.num_items(), 40);
  EXPECT_EQ(null.dataset(), "val");
  EXPECT_EQ(null.thread_policy(), "micro-single");
  EXPECT_THAT(null.run_indexes(), ElementsAre(0));
  EXPECT_EQ(null.labels_size(), 0);
  EXPECT_FALSE(null.has_unsupported_reason());
  EXPECT_EQ(null.job_id(), JobId(null));
  EXPECT_EQ(null.output(), "image-9ch/micro/null_micro_results.jsonl");
}

}  // namespace
}  // namespace feedrate
