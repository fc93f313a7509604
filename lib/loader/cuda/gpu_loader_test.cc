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
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/cuda/chunk_maker.h"
#include "lib/loader/cuda/cuda_copy.h"
#include "lib/loader/cuda/entries_decoder.h"
#include "lib/loader/cuda/testing/recipe_batches.h"
#include "lib/loader/jpeg_index.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/jpeg/test_files.h"
#include "lib/ops/cuda/cuda_device.h"

namespace feedrate {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
                       std::unique_ptr<NvJpegDecoder> decoder,
                       JpegIndex* index = nullptr) {
  const GpuRecipe recipe =
      GpuRecipe::Create(options.recipe, options.mix).value();
  const auto source = FolderSource(folder).value();
  DecodeCost cost(*source, recipe);
  const ChunkContext context = {*source, recipe, cost, false, index};
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

JpegTestFile FileOfKind(int kind) {
  JpegTestFile file;
  file.width = 97 + 31 * kind;
  file.height = 61 + 17 * kind;
  file.horizontal = kind % 2 + 1;
  file.vertical = kind / 2 % 2 + 1;
  file.gray = kind % 5 == 4;
  file.optimized = kind % 3 == 2;
  file.quality = 40 + 2 * kind;
  file.noise = 10 * kind;
  file.seed = static_cast<uint32_t>(kind);
  return file;
}

std::string EntriesOf(const std::string& jpeg) {
  JpegRegionDecoder host;
  return host.Open(jpeg).ok() ? host.FindEntries() : "";
}

class EntriesDecoderTest : public GpuLoaderTest {
 protected:
  void SetUp() override {
    GpuLoaderTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cudaEventCreate(&done_), cudaSuccess);
  }
  void TearDown() override {
    if (done_ != nullptr) cudaEventDestroy(done_);
  }
  // REQUIRES: it is a file of test_files.
  bool Add(const JpegTestFile& file, const std::string& jpeg,
           const std::string& entries, int top, int end) {
    return decoder_.Add(jpeg, entries, file.width, file.height, top, end,
                        &rows_.emplace_back());
  }
  // To places with room for `bytes` each.
  absl::StatusOr<std::vector<int>> Decode(int64_t bytes) {
    EXPECT_TRUE(rgb_.Reserve(static_cast<int64_t>(rows_.size()) * bytes).ok());
    std::vector<uint8_t*> places;
    for (size_t i = 0; i < rows_.size(); ++i) {
      places.push_back(rgb_.data() + static_cast<int64_t>(i) * bytes);
    }
    return decoder_.Decode(places, nullptr, done_);
  }

  cudaEvent_t done_ = nullptr;
  EntriesDecoder decoder_;
  std::vector<EntriesDecoder::Rows> rows_;
  DeviceBlock rgb_;
};

// From the middle of the codes, on the device: the bytes of the CPU.
TEST_F(EntriesDecoderTest, MakesTheSamePixels) {
  for (int kind = 0; kind < 24; ++kind) {
    SCOPED_TRACE(kind);
    const JpegTestFile file = FileOfKind(kind);
    const std::string jpeg = MakeJpeg(file);
    const Image whole = DecodeWhole(jpeg, {});
    const std::string entries = EntriesOf(jpeg);
    ASSERT_NE(entries, "");
    EXPECT_FALSE(decoder_.Add(jpeg, entries + "x", file.width, file.height, 0,
                              9, &rows_.emplace_back()));
    EXPECT_FALSE(decoder_.Add(jpeg, entries, file.width + 1, file.height, 0, 9,
                              &rows_.emplace_back()));
    rows_.clear();
    const std::pair<int, int> wanted[] = {
        {0, file.height}, {file.height / 3, file.height / 2}, {20, 21}};
    for (const auto& [top, end] : wanted) {
      ASSERT_TRUE(Add(file, jpeg, entries, top, end));
    }
    const int64_t row = int64_t{3} * file.width;
    const int64_t bytes = (row * file.height + 255) / 256 * 256;
    ASSERT_THAT(Decode(bytes).value(), ElementsAre());
    for (int i = 0; i < 3; ++i) {
      const auto [top, end] = wanted[i];
      const EntriesDecoder::Rows rows = rows_[i];
      std::vector<uint8_t> back(row * rows.height);
      ASSERT_EQ(cudaMemcpy(back.data(), rgb_.data() + i * bytes, back.size(),
                           cudaMemcpyDeviceToHost),
                cudaSuccess);
      ASSERT_LE(rows.top, top);
      ASSERT_GE(rows.top + rows.height, end);
      ASSERT_LE(rows.height, end - top + EntriesDecoder::kMoreRows);
      for (int y = top; y < end; ++y) {
        ASSERT_EQ(
            std::memcmp(&back[(y - rows.top) * row], whole.view().row(y), row),
            0)
            << "row " << y << " of " << file.height;
      }
    }
  }
}

// One entry after the other is wrong in one way; and damaged codes.
TEST_F(EntriesDecoderTest, TellsWhatIsWrong) {
  const JpegTestFile file = FileOfKind(7);
  const std::string jpeg = MakeJpeg(file);
  const std::string packed = EntriesOf(jpeg);
  const int64_t bytes = int64_t{3} * file.width * (file.height + 64);
  const int64_t mcus =
      int64_t{(file.width + 15) / 16} * ((file.height + 15) / 16);
  JpegEntries right;
  ASSERT_TRUE(UnpackJpegEntries(packed, 3, mcus, jpeg.size(), &right));
  ASSERT_GT(right.entries.size(), 8u);
  ASSERT_TRUE(Add(file, jpeg, packed, 0, file.height));
  for (size_t e = 1; e < right.entries.size(); ++e) {
    JpegEntries entries = right;
    JpegEntry& entry = entries.entries[e];
    if (e % 3 == 0) ++entry.last_dc[e % 2];
    if (e % 3 == 1) entry.bit = (entry.bit + 1) % 8;
    if (e % 3 == 2) ++entry.byte;
    ASSERT_TRUE(Add(file, jpeg, PackJpegEntries(entries), 0, file.height));
  }
  const auto wrong = Decode(bytes);
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  EXPECT_EQ(wrong->size(), right.entries.size() - 1);
  EXPECT_THAT(*wrong, Not(Contains(0)));
  // Whatever the codes are, nothing breaks. Files that changed have no entries,
  // so values that changed alone need not be noticed.
  rows_.clear();
  int added = 0;
  for (size_t at = jpeg.size() / 3; at + 2 < jpeg.size(); at += 97) {
    std::string damaged = jpeg;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    damaged[at + 1] = static_cast<char>(at % 2 ? '\xff' : damaged[at + 1]);
    added += Add(file, damaged, packed, 0, file.height);
  }
  const auto damaged = Decode(bytes);
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_GT(damaged->size(), added * 0.5);
}

TEST_F(GpuLoaderTest, BatchesOfAnIndexAreThoseOfTheCpu) {
  const std::string folder = TestFolder(kTestFiles);
  const auto index = JpegIndex::Open(folder + "/feedrate.jpegindex").value();
  for (const char* const transform :
       {"HorizontalFlip", "RandomCrop224", "Mixup", "CutMix"}) {
    SCOPED_TRACE(transform);
    const int crop = transform == std::string("RandomCrop224") ? 224 : 24;
    const TestBatches wanted =
        CpuBatches(TestOptions(transform, {"native", "opencv"}, crop), folder);
    // Twice, for the index is made in the first.
    for (int i = 0; i < 2; ++i) {
      const TestBatches made = GpuBatches(
          TestOptions(transform, {"cuda"}, crop), folder, nullptr, index.get());
      EXPECT_EQ(index->size(), kTestFiles);
      for (size_t batch = 0; batch < wanted.size(); ++batch) {
        const Levels levels = DifferenceOf(wanted[batch], made[batch]);
        EXPECT_LE(levels.greatest, kEqual.greatest) << "batch " << batch;
      }
    }
  }
}

// An index with the entries of other files: the CPU decodes.
TEST_F(GpuLoaderTest, WrongEntriesMakeTheSameBatches) {
  const std::string folder = TestFolder(kTestFiles);
  const auto source = FolderSource(folder).value();
  const auto index = JpegIndex::Open(folder + "/feedrate.jpegindex").value();
  for (int64_t item = 0; item < source->size(); ++item) {
    ReadBuffer buffer;
    const absl::string_view file = source->Read(item, &buffer).value();
    std::string entries = EntriesOf(std::string(file));
    if (!entries.empty())
      entries.back() = static_cast<char>(entries.back() ^ 2);
    index->Add(JpegIndex::KeyOf(file), entries);
  }
  const TestBatches wanted = CpuBatches(
      TestOptions("HorizontalFlip", {"native", "opencv"}, 64), folder);
  const TestBatches made =
      GpuBatches(TestOptions("HorizontalFlip", {"cuda"}, 64), folder, nullptr,
                 index.get());
  for (size_t batch = 0; batch < wanted.size(); ++batch) {
    const Levels levels = DifferenceOf(wanted[batch], made[batch]);
    EXPECT_LE(levels.greatest, kEqual.greatest) << "batch " << batch;
  }
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
