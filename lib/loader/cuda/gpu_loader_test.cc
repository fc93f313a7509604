// The loader of a GPU and copies to it: batches compared with those of the CPU.
// gpu_recipe_test and gpu_work_test check draws and the division of work
// without a GPU.
#include "lib/loader/cuda/gpu_loader.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/cuda/chunk_maker.h"
#include "lib/loader/cuda/cuda_copy.h"
#include "lib/loader/cuda/testing/recipe_batches.h"
#include "lib/loader/testing/test_files.h"
#include "lib/ops/cuda/cuda_device.h"

namespace feedrate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string NoGpu() {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found == cudaSuccess && devices > 0) return "";
  cudaGetLastError();
  return absl::StrFormat("no CUDA device: %s", cudaGetErrorString(found));
}

class GpuLoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = NoGpu();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

// Small pieces, so that a batch consists of more than one.
TestBatches GpuBatches(const LoaderOptions& options, const std::string& folder,
                       std::unique_ptr<NvJpegDecoder> decoder) {
  const GpuRecipe recipe =
      GpuRecipe::Create(options.recipe, options.mix).value();
  const auto source = FolderSource(folder).value();
  DecodeCost cost(*source, recipe);
  const ChunkContext context = {*source, recipe, cost, false};
  const auto maker = ChunkMaker::Create(context, std::move(decoder)).value();
  const int64_t values = recipe.shape().values();
  DeviceBlock blocks[2];
  TestBatches batches(2);
  FaultList faults;
  // From both ends, in the order of cost.
  BatchQueue queue(kTestFiles, kTestBatch, 2, recipe.mixes(),
                   [&](int64_t item) { return cost.Of(item, kTestSeed); });
  auto end = BatchQueue::End::kLow;
  while (const auto piece = queue.Take(3, end)) {
    end = end == BatchQueue::End::kLow ? BatchQueue::End::kHigh
                                       : BatchQueue::End::kLow;
    GpuChunk chunk;
    chunk.piece = *piece;
    for (const int place : piece->places) {
      chunk.positions.push_back(piece->batch * kTestBatch + place);
    }
    chunk.items = chunk.positions;
    chunk.seed = kTestSeed;
    chunk.mix = recipe.DrawPlan(kTestSeed, piece->batch);
    DeviceBlock& block = blocks[piece->slot];
    EXPECT_TRUE(block.ReserveExactly(piece->size * values * 4).ok());
    chunk.batch = reinterpret_cast<float*>(block.data());
    const absl::Status made = maker->Make(chunk, &faults);
    EXPECT_TRUE(made.ok()) << made;
    batches[piece->batch].resize(piece->size * values);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cudaMemcpy(batches[i].data(), blocks[i].data(),
                         batches[i].size() * 4, cudaMemcpyDeviceToHost),
              cudaSuccess);
  }
  return batches;
}

void Compare(const std::string& transform, int crop, const Levels& allowed,
             std::unique_ptr<NvJpegDecoder> decoder = nullptr) {
  SCOPED_TRACE(transform);
  const std::string folder = TestFolder(kTestFiles);
  const TestBatches wanted =
      CpuBatches(TestOptions(transform, {"native", "opencv"}, crop), folder);
  const TestBatches made = GpuBatches(TestOptions(transform, {"cuda"}, crop),
                                      folder, std::move(decoder));
  ASSERT_EQ(wanted.size(), made.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Levels levels = DifferenceOf(wanted[i], made[i]);
    EXPECT_LE(levels.greatest, allowed.greatest) << "batch " << i;
    EXPECT_LE(levels.mean, allowed.mean) << "batch " << i;
  }
}

constexpr Levels kEqual = {0.02, 0.01};

TEST_F(GpuLoaderTest, BatchesAreThoseOfTheCpu) {
  Compare("HorizontalFlip", 24, kEqual);
  Compare("HorizontalFlip", 64, kEqual);
  Compare("RandomCrop224", 224, kEqual);
  Compare("Solarize", 24, kEqual);
  Compare("Mixup", 24, kEqual);
  Compare("CutMix", 24, kEqual);
  // The CPU rounds after each step, the kernel between the passes of a blur.
  Compare("ThreeAugment", 24, {8, 1.5});
}

TEST_F(GpuLoaderTest, EnginesDecodeNearlyTheSame) {
  const auto library = NvJpeg::Load();
  if (!library.ok()) GTEST_SKIP() << library.status().message();
  for (const NvjpegBackend backend : {kNvjpegHardware, kNvjpegGpuHybrid}) {
    auto decoder = NvJpegDecoder::Create(**library, backend);
    if (absl::IsUnavailable(decoder.status())) {
      std::cout << "no such engine: " << decoder.status() << "\n";
      continue;
    }
    ASSERT_TRUE(decoder.ok()) << decoder.status();
    // Engines do not smooth colors between pixels, and these images have edges.
    Compare("Mixup", 24, {255, 30}, *std::move(decoder));
  }
}

TEST_F(GpuLoaderTest, CopiesFromPinnedMemory) {
  const auto memory = PinnedMemory().value();
  const auto copy = CudaCopy().value();
  constexpr int kValues = 100000;
  const auto host = memory->Allocate(kValues * sizeof(float)).value();
  for (int slot = 0; slot < copy->slots(); ++slot) {
    for (int i = 0; i < kValues; ++i) host->data()[i] = i + 0.5f * slot;
    const auto device = copy->Copy(host->data(), kValues * sizeof(float), slot);
    ASSERT_TRUE(device.ok()) << device.status();
    // The copy is complete: changing host memory now has no effect.
    std::memset(host->data(), 0, kValues * sizeof(float));
    std::vector<float> back(kValues);
    ASSERT_EQ(cudaMemcpy(back.data(), *device, kValues * sizeof(float),
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(back[1], 1 + 0.5f * slot);
    EXPECT_EQ(back[kValues - 1], kValues - 1 + 0.5f * slot);
  }
  EXPECT_EQ(copy->device_bytes(),
            copy->slots() * static_cast<int64_t>(kValues * sizeof(float)));
}

TEST(WithoutAGpuTest, EverythingSaysSo) {
  if (NoGpu().empty()) GTEST_SKIP() << "there is a GPU";
  const auto says_so = AnyOf(HasSubstr("no GPU"), HasSubstr("CUDA"));
  EXPECT_THAT(std::string(PinnedMemory().status().message()), says_so);
  EXPECT_THAT(std::string(CudaCopy().status().message()), says_so);
  EXPECT_THAT(std::string(CopyBytesPerSecond().status().message()), says_so);
}

}  // namespace
}  // namespace feedrate
