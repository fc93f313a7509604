#include "lib/runner/mixture/mixture_settings.h"

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/variants.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

Job SomeJob() {
  MixtureConfig config;
  config.set_read_interleave(3);
  config.set_decode_parallelism(0);
  config.set_pipeline_interleave(2);
  config.set_mix_block_length(4);
  config.set_shuffle_buffer(16);
  config.set_queue_depth(4);
  config.set_samples_per_episode(0);
  config.set_pair_offset(2);
  config.set_metadata("full");
  config.set_prime_each_dataset_samples(1);
  config.set_frame_size(128);
  config.set_steps(20);
  config.set_warmup(2);
  DatasetWeight* const weight = config.add_weights();
  weight->set_dataset("a");
  weight->set_weight(-0.5);
  Job job;
  job.set_job_id("7");
  job.set_batch_size(32);
  for (const auto& [name, value] : MixtureSettings(config)) {
    (*job.mutable_settings())[name] = value;
  }
  return job;
}

std::string Error(const std::string& name, const std::string& value) {
  Job job = SomeJob();
  (*job.mutable_settings())[name] = value;
  return std::string(ParseMixtureSettings(job).status().message());
}

TEST(MixtureSettingsTest, ReadsWhatPlanningWrote) {
  const auto settings = ParseMixtureSettings(SomeJob());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->spec.read_interleave, 3);
  EXPECT_EQ(settings->spec.samples_per_episode, 0);
  EXPECT_EQ(settings->spec.pair_offset, 2);
  EXPECT_EQ(settings->spec.metadata, "full");
  EXPECT_EQ(settings->spec.frame_height, 128);
  EXPECT_EQ(settings->spec.frame_width, 128);
  EXPECT_EQ(settings->samples(), 22 * 32);
  EXPECT_EQ(settings->weights.at("a"), -0.5);
}

TEST(MixtureSettingsTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error("steps", "0"), HasSubstr("setting steps: \"0\""));
  EXPECT_THAT(Error("queue_depth", "many"), HasSubstr("queue_depth"));
  EXPECT_THAT(Error("queue_depth", "0"), HasSubstr("queue_depth is 0"));
  EXPECT_THAT(Error("metadata", "some"), HasSubstr("metadata \"some\""));
  EXPECT_THAT(Error("weights", "a=1,b"), HasSubstr("NAME=WEIGHT"));
  Job job = SomeJob();
  job.mutable_settings()->erase("pair_offset");
  EXPECT_THAT(std::string(ParseMixtureSettings(job).status().message()),
              HasSubstr("pair_offset is missing"));
}

}  // namespace
}  // namespace feedrate
