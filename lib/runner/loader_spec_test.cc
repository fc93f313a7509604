#include "lib/runner/loader_spec.h"

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class LoaderSpecTest : public testing::Test {
 protected:
  LoaderSpecTest() : catalogue_(Catalogue::Load("configs").value()) {
    job_.set_scenario("image-rgb");
    job_.set_mode("pipeline");
    job_.set_scope("decode_dataloader_augment");
    job_.set_library("native");
    job_.set_transform("HorizontalFlip");
    job_.set_params_profile("paper");
    job_.set_device("cpu");
    job_.set_batch_size(256);
    job_.set_workers(2);
  }

  LoaderSpec Spec() {
    const absl::StatusOr<LoaderSpec> spec = LoaderSpecOfJob(catalogue_, job_);
    EXPECT_TRUE(spec.ok()) << spec.status();
    EXPECT_TRUE(CheckLoaderSpec(*spec).ok()) << CheckLoaderSpec(*spec);
    return *spec;
  }

  const Catalogue catalogue_;
  Job job_;
};

TEST_F(LoaderSpecTest, IsWhatThePolicySays) {
  const LoaderSpec spec = Spec();
  EXPECT_EQ(spec.source, "files");
  EXPECT_EQ(spec.batch_size, 256);
  EXPECT_EQ(spec.workers, 2);
  EXPECT_EQ(spec.prefetch, 2);
  EXPECT_FALSE(spec.persistent);
  EXPECT_FALSE(spec.pin_memory);
  EXPECT_FALSE(spec.drop_last);
  EXPECT_FALSE(spec.shuffle);
  EXPECT_EQ(spec.channels, 3);
  EXPECT_EQ(spec.crop, 224);
  EXPECT_FALSE(spec.is_crop);
  EXPECT_EQ(spec.crop_position, "random");
  EXPECT_THAT(spec.mean, ElementsAre(0.485, 0.456, 0.406));
}

TEST_F(LoaderSpecTest, MemoryCropsAndMatchedDiffer) {
  job_.set_scope("memory_dataloader_augment");
  job_.set_scenario("image-9ch");
  job_.set_transform("CenterCrop224");
  job_.set_params_profile("matched");
  const LoaderSpec spec = Spec();
  EXPECT_EQ(spec.source, "corpus");
  EXPECT_EQ(spec.channels, 9);
  EXPECT_TRUE(spec.is_crop);
  EXPECT_EQ(spec.crop_position, "center");
}

TEST_F(LoaderSpecTest, SettingsOfASweep) {
  (*job_.mutable_settings())["prefetch"] = "4";
  (*job_.mutable_settings())["persistent_workers"] = "true";
  (*job_.mutable_settings())["read_ahead"] = "io_uring";
  (*job_.mutable_settings())["min_time"] = "2";
  const LoaderSpec spec = Spec();
  EXPECT_EQ(spec.prefetch, 4);
  EXPECT_TRUE(spec.persistent);
  EXPECT_THAT(spec.settings, ElementsAre(Pair("read_ahead", "io_uring")));
  EXPECT_EQ(EpochPolicyOfJob(job_)->min_time_s, 2);
}

TEST_F(LoaderSpecTest, ASettingThatCannotBeMeantIsNamed) {
  (*job_.mutable_settings())["prefetch"] = "0";
  const auto spec = LoaderSpecOfJob(catalogue_, job_);
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(std::string(spec.status().message()),
              HasSubstr("setting prefetch: \"0\""));
  (*job_.mutable_settings())["sample_ratio"] = "1.5";
  EXPECT_FALSE(EpochPolicyOfJob(job_).ok());
}

TEST_F(LoaderSpecTest, TrainingRecipesHaveABatchStage) {
  job_.set_transform("Mixup");
  EXPECT_EQ(Spec().batch_transform, "mixup");
}

}  // namespace
}  // namespace feedrate
