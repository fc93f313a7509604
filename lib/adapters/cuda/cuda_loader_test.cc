// The loaders of `cuda` and `native` as a runner uses them on a GPU.
#include "lib/adapters/cuda/cuda_loader.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/native/native_adapter.h"
#include "lib/base/files.h"
#include "lib/loader/testing/test_files.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kTestFiles = 11;
constexpr int kTestBatch = 8;

std::string NoGpu() {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found == cudaSuccess && devices > 0) return "";
  cudaGetLastError();
  return absl::StrFormat("no CUDA device: %s", cudaGetErrorString(found));
}

class CudaLoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = NoGpu();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

std::vector<SourceFile> FilesOf(const std::string& folder) {
  std::vector<SourceFile> files;
  for (int i = 0; i < kTestFiles; ++i) {
    const std::string path = absl::StrFormat("%s/%03d.jpg", folder, i);
    files.push_back(
        {path, static_cast<int64_t>(ReadFile(path).value().size())});
  }
  return files;
}

// Crops of 24.
PrepareCommand CommandFor(const std::string& native_op,
                          const std::vector<std::string>& params) {
  PrepareCommand command;
  command.set_native_op(native_op);
  *command.mutable_params() = {params.begin(), params.end()};
  command.set_device("cuda");
  LoaderSpec& loader = *command.mutable_loader();
  loader.set_scope(kDecodeScope);
  loader.set_source("files");
  loader.set_batch_size(kTestBatch);
  loader.set_workers(2);
  loader.set_prefetch(2);
  loader.set_channels(3);
  loader.set_crop(24);
  loader.set_crop_position("random");
  for (const double value : {0.485, 0.456, 0.406}) {
    loader.add_mean(value);
  }
  for (const double value : {0.229, 0.224, 0.225}) {
    loader.add_std(value);
  }
  loader.set_input_scale(255);
  loader.set_on_error("fail");
  return command;
}

TEST_F(CudaLoaderTest, EpochsWithAFileThatIsBroken) {
  for (const char* nvjpeg : {"off", "auto"}) {
    SCOPED_TRACE(nvjpeg);
    PrepareCommand spec = CommandFor("feedrate::cutmix", {"alpha=1.0"});
    spec.mutable_loader()->set_on_error("skip");
    if (std::strcmp(nvjpeg, "off") == 0) {
      (*spec.mutable_loader()->mutable_settings())["nvjpeg"] = "off";
    }
    LoaderInput input;
    input.files = FilesOf(TestFolder(kTestFiles, {3}));
    CudaLoaderAdapter adapter;
    const auto loader = adapter.PrepareLoader(spec, input);
    ASSERT_TRUE(loader.ok()) << loader.status();
    EpochCommand command;
    command.set_count(2 * kTestFiles);
    for (int i = 0; i < 3; ++i) {
      const auto reply = (*loader)->RunEpoch(command);
      ASSERT_TRUE(reply.ok()) << reply.status();
      EXPECT_EQ(reply->items(), 2 * kTestFiles);
      EXPECT_EQ(reply->batches(), 3);
      EXPECT_EQ(reply->bytes_out(), 2 * kTestFiles * 3 * 24 * 24 * 4);
      EXPECT_GT(reply->gpu_allocated_bytes(), 3 * kTestBatch * 24 * 24 * 4);
      // An engine may decode what there is without reporting an error.
      if (!spec.loader().settings().empty()) {
        // Once, though the epoch has each file twice.
        EXPECT_EQ(reply->errors_total(), 1);
        EXPECT_THAT(reply->errors(0).path(), HasSubstr("003.jpg"));
      }
    }
  }
}

TEST_F(CudaLoaderTest, TheNativeLoaderCopies) {
  PrepareCommand spec = CommandFor("cv::flip", {"flip_code=1"});
  spec.mutable_loader()->set_scope(kCopyScope);
  LoaderInput input;
  input.files = FilesOf(TestFolder(kTestFiles));
  NativeAdapter adapter;
  const auto loader = adapter.PrepareLoader(spec, input);
  ASSERT_TRUE(loader.ok()) << loader.status();
  EpochCommand command;
  command.set_count(40);
  for (int i = 0; i < 3; ++i) {
    const auto reply = (*loader)->RunEpoch(command);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->items(), 40);
    EXPECT_EQ(reply->stages().rbegin()->name(), "copy");
    EXPECT_EQ(reply->gpu_reserved_bytes(), 2 * kTestBatch * 3 * 24 * 24 * 4);
  }
}

TEST_F(CudaLoaderTest, LimitsOfTheDevice) {
  PrepareCommand spec = CommandFor("flip", {"axis=horizontal"});
  spec.mutable_loader()->set_ablation(kDeviceLimits);
  LoaderInput input;
  input.files = FilesOf(TestFolder(kTestFiles));
  CudaLoaderAdapter adapter;
  const auto loader = adapter.PrepareLoader(spec, input);
  ASSERT_TRUE(loader.ok()) << loader.status();
  EpochCommand command;
  command.set_limit_s(0.1);
  const auto reply = (*loader)->RunEpoch(command);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GT(reply->device_limits().copy_bytes_per_s(), 1e6);
}

TEST(WithoutAGpuTest, EverythingSaysSo) {
  if (NoGpu().empty()) GTEST_SKIP() << "there is a GPU";
  const auto says_so = AnyOf(HasSubstr("no GPU"), HasSubstr("CUDA"));
  PrepareCommand spec = CommandFor("flip", {"axis=horizontal"});
  LoaderInput input;
  input.files = FilesOf(TestFolder(kTestFiles));
  CudaLoaderAdapter adapter;
  EXPECT_THAT(
      std::string(adapter.PrepareLoader(spec, input).status().message()),
      says_so);
  spec.set_device("cpu");
  EXPECT_THAT(
      std::string(adapter.PrepareLoader(spec, input).status().message()),
      HasSubstr("to device cuda"));
}

}  // namespace
}  // namespace feedrate
