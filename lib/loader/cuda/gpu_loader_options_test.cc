#include "lib/loader/cuda/gpu_loader_options.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

LoaderSpec Spec(const std::string& nvjpeg) {
  LoaderSpec spec;
  spec.workers = 3;
  if (!nvjpeg.empty()) spec.settings["nvjpeg"] = nvjpeg;
  return spec;
}

TEST(GpuLoaderOptionsTest, WhoDecodes) {
  const auto options = GpuLoaderOptionsOf(Spec("")).value();
  EXPECT_EQ(options.workers, 3);
  EXPECT_GT(options.hardware_threads, 0);
  EXPECT_EQ(options.gpu_threads, 0);
  EXPECT_TRUE(options.nvjpeg_optional);
  EXPECT_EQ(GpuLoaderOptionsOf(Spec("off"))->hardware_threads, 0);
  EXPECT_EQ(GpuLoaderOptionsOf(Spec("gpu"))->hardware_threads, 0);
  EXPECT_GT(GpuLoaderOptionsOf(Spec("gpu"))->gpu_threads, 0);
  EXPECT_GT(GpuLoaderOptionsOf(Spec("both"))->gpu_threads, 0);
  EXPECT_GT(GpuLoaderOptionsOf(Spec("both"))->hardware_threads, 0);
  EXPECT_FALSE(GpuLoaderOptionsOf(Spec("hardware"))->nvjpeg_optional);
}

TEST(GpuLoaderOptionsTest, HowManyFeedTheEngines) {
  LoaderSpec spec = Spec("both");
  spec.settings["nvjpeg_threads"] = "7";
  EXPECT_EQ(GpuLoaderOptionsOf(spec)->hardware_threads, 7);
  EXPECT_EQ(GpuLoaderOptionsOf(spec)->gpu_threads, 7);
  spec.settings["nvjpeg"] = "off";
  EXPECT_EQ(GpuLoaderOptionsOf(spec)->hardware_threads, 0);
  for (const char* wrong : {"0", "65", "-1", "two", ""}) {
    spec.settings["nvjpeg_threads"] = wrong;
    EXPECT_THAT(std::string(GpuLoaderOptionsOf(spec).status().message()),
                HasSubstr("use 1 to 64"))
        << wrong;
  }
}

TEST(GpuLoaderOptionsTest, MistakesAreNamed) {
  EXPECT_THAT(std::string(GpuLoaderOptionsOf(Spec("maybe")).status().message()),
              HasSubstr("nvjpeg=maybe"));
  LoaderSpec spec = Spec("");
  spec.settings["colour"] = "red";
  EXPECT_THAT(std::string(GpuLoaderOptionsOf(spec).status().message()),
              HasSubstr("no setting colour"));
}

}  // namespace
}  // namespace feedrate
