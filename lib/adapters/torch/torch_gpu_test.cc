// Every entry of configs/transforms/ for the library torch gives the same
// results on a GPU, image by image and in batches, as on the CPU.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "lib/adapters/torch/torch_adapter.h"
#include "lib/base/files.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"
#include "lib/media/small_corpus.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

constexpr uint64_t kSeed = 7;

// True if it uses torch's own generator, which differs between devices.
bool DrawsFromTorch(const PrepareCommand& spec) {
  return absl::StrContains(spec.native_op(), "at::rand") ||
         (absl::StrContains(spec.native_op(), "at::permute") &&
          std::none_of(spec.params().begin(), spec.params().end(),
                       [](const std::string& param) {
                         return absl::StartsWith(param, "order=");
                       })) ||
         spec.native_op() == "at::conv2d+at::grid_sampler";
}

class TorchGpuTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<std::string>> Outputs(PrepareCommand spec,
                                                   const std::string& device,
                                                   int64_t batch) {
    spec.set_device(device);
    spec.set_batch(batch);
    absl::StatusOr<std::unique_ptr<PreparedTransform>> transform =
        adapter_.Prepare(spec, corpus_);
    if (!transform.ok()) return transform.status();
    std::vector<std::string> outputs;
    for (int64_t item = 0; item < corpus_.size(); ++item) {
      (*transform)->Seed(kSeed);
      const absl::StatusOr<Output> output = (*transform)->RunForOutput(item);
      if (!output.ok()) return output.status();
      outputs.emplace_back(static_cast<const char*>(output->data),
                           output->bytes);
    }
    return outputs;
  }

  // Returns an error instead of throwing, so that the other entries are tried.
  absl::StatusOr<std::vector<std::string>> TryOutputs(
      const PrepareCommand& spec, const std::string& device, int64_t batch) {
    try {
      return Outputs(spec, device, batch);
    } catch (const std::exception& error) {
      return absl::UnknownError(error.what());
    }
  }

  void CompareEntry(const PrepareCommand& spec, int64_t batch) {
    SCOPED_TRACE(absl::StrCat(spec.transform(), ", batch ", batch));
    const auto expected = TryOutputs(spec, "cpu", 0);
    const auto actual = TryOutputs(spec, "cuda", batch);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ((*actual)[i].size(), (*expected)[i].size());
      if (DrawsFromTorch(spec)) continue;
      // Sums in another order, and the edges of warped images.
      EXPECT_LE(FarApart((*actual)[i], (*expected)[i]),
                (*expected)[i].size() / 100)
          << "image " << i;
    }
  }

  static size_t FarApart(const std::string& a, const std::string& b) {
    size_t far = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      far +=
          std::abs(static_cast<uint8_t>(a[i]) - static_cast<uint8_t>(b[i])) > 2;
    }
    return far;
  }

  TorchAdapter adapter_;
  Corpus corpus_ =
      ConvertCorpus(SmallCorpus(std::vector<ItemSize>(3, {1, 60, 80, 3})),
                    {DType::kUint8, Layout::kChw, 0}, 1)
          .value();
};

TEST_F(TorchGpuTest, EveryEntryIsWhatTheCpuMakes) {
  PrepareCommand any;
  any.set_native_op("at::bitwise_not");
  any.set_device("cuda");
  const absl::Status device = adapter_.Prepare(any, corpus_).status();
  if (!device.ok()) GTEST_SKIP() << device.message();
  const char* const path = std::getenv("FEEDRATE_ENTRIES");
  if (path == nullptr) GTEST_SKIP() << "FEEDRATE_ENTRIES names no file";
  const absl::StatusOr<std::string> lines = ReadFile(path);
  ASSERT_TRUE(lines.ok()) << lines.status();
  int entries = 0;
  for (absl::string_view line : absl::StrSplit(*lines, '\n')) {
    if (line.empty()) continue;
    const PrepareCommand spec = ParseChildCommand(line).value().prepare();
    if (spec.scenario() != "image-rgb") continue;
    CompareEntry(spec, 0);
    CompareEntry(spec, 3);
    ++entries;
  }
  EXPECT_GE(entries, 30);
}

}  // namespace
}  // namespace feedrate
