#include "lib/records/output_names.h"

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

Job TheJob(const char* mode) {
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode(mode);
  job.set_library("kornia");
  job.set_scope("memory_dataloader_augment");
  job.set_device("cpu");
  job.set_num_items(10000);
  job.set_workers(8);
  job.set_batch_size(256);
  return job;
}

TEST(ResultFileNameTest, Micro) {
  EXPECT_EQ(ResultFileName(TheJob("micro"), 1),
            "image-rgb/micro/kornia_micro_results.jsonl");
}

TEST(ResultFileNameTest, PipelineNamesItsSettings) {
  Job job = TheJob("pipeline");
  EXPECT_EQ(ResultFileName(job, 3),
            "image-rgb/pipeline/kornia_memory_dataloader_augment_"
            "n10000_r3_w8_b256_results.jsonl");
  job.set_num_items(0);
  job.set_device("cuda");
  EXPECT_EQ(ResultFileName(job, 1),
            "image-rgb/pipeline/kornia_memory_dataloader_augment_"
            "nall_r1_w8_b256_dev-cuda_results.jsonl");
}

}  // namespace
}  // namespace feedrate
