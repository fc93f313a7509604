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
