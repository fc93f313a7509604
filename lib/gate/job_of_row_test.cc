#include "lib/gate/job_of_row.h"

#include "gtest/gtest.h"
#include "lib/records/job_id.h"

namespace feedrate {
namespace {

// The identity survives, so the runner gives the same id.
TEST(JobOfRowTest, KeepsTheIdentity) {
  Row row;
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_scope("augmentation_only");
  row.set_library("opencv");
  row.set_transform("Resize");
  row.set_device("cpu");
  row.set_num_items(2000);
  row.set_thread_policy("micro-single");
  row.set_params_profile("paper");
  row.mutable_dataset()->set_id("imagenet");
  row.set_seed(7);
  (*row.mutable_settings())["x"] = "1";
  row.set_params_sha256("ab");
  row.set_run_index(2);
  const Job job = JobOfRow(row);
  EXPECT_EQ(
      CanonicalIdentity(job),
      "{\"dataset\":\"imagenet\",\"device\":\"cpu\",\"library\":"
      "\"opencv\",\"mode\":\"micro\",\"num_items\":2000,"
      "\"params_profile\":\"paper\",\"params_sha256\":\"ab\",\"scenario\":"
      "\"image-rgb\",\"scope\":\"augmentation_only\",\"seed\":7,"
      "\"settings\":{\"x\":\"1\"},\"thread_policy\":\"micro-single\","
      "\"transform\":\"Resize\"}");
  EXPECT_EQ(job.run_indexes(0), 2);
}

}  // namespace
}  // namespace feedrate
