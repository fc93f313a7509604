#include "lib/runner/loader/loader_limits.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LoaderLimitsTest, ADeviceIsMeasuredOnceAndAFailureIsTriedAgain) {
  LoaderLimits limits(nullptr);
  int calls = 0;
  const auto fails = [&]() -> absl::StatusOr<DeviceLimits> {
    ++calls;
    return absl::UnknownError("busy");
  };
  const auto works = [&]() -> absl::StatusOr<DeviceLimits> {
    ++calls;
    DeviceLimits measured;
    measured.set_copy_bytes_per_s(5);
    return measured;
  };
  EXPECT_FALSE(limits.OfDevice("a", fails).ok());
  ASSERT_TRUE(limits.OfDevice("a", works).ok());
  EXPECT_EQ(limits.OfDevice("a", fails)->copy_bytes_per_s(), 5);
  EXPECT_EQ(calls, 2);
}

// A limit that was measured while the machine was busy was too low for every
// row of the run.
TEST(LoaderLimitsTest, ARowAboveTheLimitHasItMeasuredAgain) {
  std::vector<double> measured = {20, 10, 20, 30};
  LoaderLimits limits([&](const std::vector<ClipFile>&, int threads) {
    EXPECT_EQ(threads, 2);
    const double last = measured.back();
    measured.pop_back();
    return absl::StatusOr<double>(last);
  });
  const std::vector<ClipFile> clips(1);
  LoaderInputs::Input input;
  input.source = "files";
  input.decoded.files = &clips;
  LoaderSpec spec;
  spec.set_workers(8);
  const auto of = [&](double reached) {
    return limits.Of(spec, input, /*processors=*/2, reached)->throughput();
  };
  EXPECT_EQ(of(25), 30) << "measured once";
  EXPECT_EQ(of(29), 30);
  EXPECT_EQ(of(35), 30) << "measured three times more, and lower";
  EXPECT_TRUE(measured.empty());
  EXPECT_EQ(of(29), 30);
  measured = {20, 20, 20};
  EXPECT_EQ(of(31), 31) << "the row shows what the machine can do";
  EXPECT_EQ(of(29), 31);
  measured = {40, 20};
  EXPECT_EQ(of(32), 40) << "the second time";
  EXPECT_EQ(limits.Of(spec, input, 2, 0)->name(), "libav");
}

// The warning used to start with "pipeline: ", also in `video`. The caller's
// `warn` adds the name of the program.
TEST(LoaderLimitsTest, ADeviceWithoutLimitsIsAWarningWithoutAProgramName) {
  LoaderLimits limits(nullptr);
  Job job;
  job.set_library("cuda");
  job.set_transform("Resize");
  std::string warning;
  const auto warn = [&](const std::string& text) { warning += text; };
  const auto found = limits.OfDeviceOrWarn(
      "a", job, warn, []() -> absl::StatusOr<DeviceLimits> {
        return absl::UnknownError("busy");
      });
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->has_value());
  EXPECT_EQ(warning, "cuda, Resize: without a limit: busy");
}

TEST(LoaderLimitsTest, AnInterruptIsNoWarning) {
  LoaderLimits limits(nullptr);
  const auto found = limits.OfDeviceOrWarn(
      "a", Job(), [](const std::string& text) { ADD_FAILURE() << text; },
      []() -> absl::StatusOr<DeviceLimits> {
        return absl::CancelledError("interrupted");
      });
  EXPECT_TRUE(absl::IsCancelled(found.status()));
}

TEST(LoaderLimitsTest, TheFastestCopyIsForPeers) {
  LoaderLimits limits(nullptr);
  EXPECT_EQ(limits.CopyBytesPerSecond(), 0);
  for (const double speed : {7.0, 5.0}) {
    ASSERT_TRUE(limits
                    .OfDevice(absl::StrCat(speed),
                              [&]() -> absl::StatusOr<DeviceLimits> {
                                DeviceLimits measured;
                                measured.set_copy_bytes_per_s(speed);
                                return measured;
                              })
                    .ok());
  }
  EXPECT_EQ(limits.CopyBytesPerSecond(), 7);
}

DeviceLimitInput Input(std::optional<double> cpu, double engines, double copy,
                       double item_bytes) {
  DeviceLimitInput input;
  input.cpu_items_per_s = cpu;
  input.device.set_engine_items_per_s(engines);
  input.device.set_copy_bytes_per_s(copy);
  input.item_bytes = item_bytes;
  return input;
}

TEST(DeviceLimitTest, ThereIsNoneWhereDecodingIsOtherWork) {
  LoaderSpec spec;
  spec.set_scope(kDecodeScope);
  EXPECT_TRUE(HasLimit(spec, true, true));
  (*spec.mutable_settings())["jpeg_index"] = "true";
  EXPECT_TRUE(HasLimit(spec, false, true));
  EXPECT_FALSE(HasLimit(spec, true, false));
  spec.set_scope(kCopyScope);
  EXPECT_TRUE(HasLimit(spec, true, false));
  (*spec.mutable_settings())["scaled_decode"] = "true";
  EXPECT_TRUE(HasLimit(spec, true, false));
  EXPECT_FALSE(HasLimit(spec, true, true));
}

TEST(DeviceLimitTest, CpuAndEnginesDecodeTogether) {
  const auto limit = LowestDeviceLimit(Input(8000, 19000, 5e10, 1e5));
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->name(), "jpeg_decode_cpu_and_engine");
  EXPECT_EQ(limit->throughput(), 27000);
  EXPECT_EQ(LowestDeviceLimit(Input(0, 19000, 0, 0))->name(),
            "jpeg_decode_engine");
  EXPECT_EQ(LowestDeviceLimit(Input(8000, 0, 0, 0))->name(), "jpeg_decode");
}

TEST(DeviceLimitTest, TheCopyMayBind) {
  const auto limit = LowestDeviceLimit(Input(8000, 19000, 1e10, 1e6));
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->name(), "host_to_device_copy");
  EXPECT_EQ(limit->throughput(), 10000);
}

TEST(DeviceLimitTest, WhatIsNotKnownLimitsNothing) {
  EXPECT_FALSE(LowestDeviceLimit(Input(std::nullopt, 19000, 0, 0)).has_value());
  EXPECT_FALSE(LowestDeviceLimit(Input(0, 0, 0, 1e5)).has_value());
  EXPECT_EQ(LowestDeviceLimit(Input(std::nullopt, 19000, 1e10, 1e5))->name(),
            "host_to_device_copy");
}

TEST(DeviceLimitTest, LeastBytes) {
  LoaderSpec spec;
  spec.set_channels(3);
  spec.set_crop(100);
  DeviceLimits none;
  DeviceLimits engines;
  engines.set_engine_items_per_s(1);
  EXPECT_EQ(LeastItemBytes(spec, true, 5000, none), 120000);
  EXPECT_EQ(LeastItemBytes(spec, false, 5000, none), 30000);
  EXPECT_EQ(LeastItemBytes(spec, false, 5000, engines), 5000);
  EXPECT_EQ(LeastItemBytes(spec, false, 50000, engines), 30000);
}

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
  EXPECT_EQ(spec.source(), "files");
  EXPECT_EQ(spec.batch_size(), 256);
  EXPECT_EQ(spec.workers(), 2);
  EXPECT_EQ(spec.prefetch(), 2);
  EXPECT_FALSE(spec.persistent());
  EXPECT_FALSE(spec.pin_memory());
  EXPECT_FALSE(spec.drop_last());
  EXPECT_FALSE(spec.shuffle());
  EXPECT_EQ(spec.channels(), 3);
  EXPECT_EQ(spec.crop(), 224);
  EXPECT_FALSE(spec.is_crop());
  EXPECT_EQ(spec.crop_position(), "random");
  EXPECT_THAT(spec.mean(), ElementsAre(0.485, 0.456, 0.406));
}

TEST_F(LoaderSpecTest, MemoryCropsAndMatchedDiffer) {
  job_.set_scope("memory_dataloader_augment");
  job_.set_scenario("image-9ch");
  job_.set_transform("CenterCrop224");
  job_.set_params_profile("matched");
  const LoaderSpec spec = Spec();
  EXPECT_EQ(spec.source(), "corpus");
  EXPECT_EQ(spec.channels(), 9);
  EXPECT_TRUE(spec.is_crop());
  EXPECT_EQ(spec.crop_position(), "center");
}

TEST_F(LoaderSpecTest, SettingsOfASweep) {
  (*job_.mutable_settings())["prefetch"] = "4";
  (*job_.mutable_settings())["persistent_workers"] = "true";
  (*job_.mutable_settings())["read_ahead"] = "io_uring";
  (*job_.mutable_settings())["min_time"] = "2";
  const LoaderSpec spec = Spec();
  EXPECT_EQ(spec.prefetch(), 4);
  EXPECT_TRUE(spec.persistent());
  EXPECT_EQ(spec.settings().size(), 1);
  EXPECT_EQ(spec.settings().at("read_ahead"), "io_uring");
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
  EXPECT_EQ(Spec().batch_transform(), "mixup");
}

}  // namespace
}  // namespace feedrate
