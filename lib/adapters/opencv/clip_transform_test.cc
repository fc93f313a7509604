#include "lib/adapters/opencv/clip_transform.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/opencv/make_op.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"
#include "lib/media/corpus_writer.h"
#include "opencv2/core.hpp"

namespace feedrate {
namespace {

constexpr int kFrames = 16;

// Clips of these sizes whose frames are all the same, or all different.
Corpus Clips(const std::vector<cv::Size>& sizes, bool still) {
  CorpusWriter writer =
      CorpusWriter::Create(DType::kUint8, Layout::kHwc).value();
  std::vector<ItemSize> items;
  for (const cv::Size& size : sizes) {
    items.push_back({kFrames, size.height, size.width, 3});
  }
  EXPECT_TRUE(writer.AddRoom(items).ok());
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto* data = static_cast<uint8_t*>(writer.data(i));
    const int64_t bytes = int64_t{3} * sizes[i].area();
    for (int64_t k = 0; k < kFrames * bytes; ++k) {
      const int64_t at = still ? k % bytes : k;
      data[k] = static_cast<uint8_t>(60 + (at * 7 + at / 97) % 120);
    }
  }
  return std::move(writer).Finish().value();
}

ClipTransform Make(const std::string& native_op,
                   const std::vector<std::string>& params,
                   const Corpus& corpus) {
  TransformSpec spec;
  spec.native_op = native_op;
  spec.params = params;
  absl::StatusOr<Op> op = MakeOp(spec);
  EXPECT_TRUE(op.ok()) << op.status();
  return ClipTransform(*op, corpus);
}

std::string Bytes(const Output& output) {
  return std::string(static_cast<const char*>(output.data), output.bytes);
}

// Whether all frames of an output are the same.
bool IsStill(const Output& output) {
  const int64_t frame = output.bytes / kFrames;
  const auto* data = static_cast<const char*>(output.data);
  for (int i = 1; i < kFrames; ++i) {
    if (std::memcmp(data, data + i * frame, frame) != 0) return false;
  }
  return true;
}

TEST(ClipTransformTest, OneDrawOfParametersAClip) {
  const Corpus still = Clips({{40, 30}}, true);
  const std::pair<std::string, std::vector<std::string>> drawn[] = {
      {"cv::getRotationMatrix2D+cv::warpAffine",
       {"angle=U(-45,45)", "interpolation=INTER_NEAREST",
        "border_mode=BORDER_CONSTANT", "fill=0"}},
      {"cv::add",
       {"r_shift=U(-100,100)", "g_shift=U(-100,100)", "b_shift=U(-100,100)"}},
      {"cv::randn+cv::add", {"mean=0", "std=112.2"}},
  };
  for (const auto& [native_op, params] : drawn) {
    ClipTransform transform = Make(native_op, params, still);
    transform.Seed(7);
    const Output first = *transform.RunForOutput(0);
    EXPECT_TRUE(IsStill(first)) << native_op;
    const std::string before = Bytes(first);
    EXPECT_NE(Bytes(*transform.RunForOutput(0)), before)
        << native_op << ": clips differ in their draws";
    transform.Seed(7);
    EXPECT_EQ(Bytes(*transform.RunForOutput(0)), before) << native_op;
  }
}

TEST(ClipTransformTest, FramesAreInOrderAndSizesMayDiffer) {
  const Corpus moving = Clips({{40, 30}, {24, 50}, {40, 30}}, false);
  ClipTransform flip = Make("cv::flip", {"flip_code=1"}, moving);
  for (const int64_t item : {0, 1, 2, 1, 0}) {
    const Output output = *flip.RunForOutput(item);
    const ItemView input = moving.item(item);
    ASSERT_EQ(output.shape,
              (std::vector<int64_t>{kFrames, input.height, input.width, 3}));
    const auto* in = static_cast<const uint8_t*>(input.data);
    const auto* out = static_cast<const uint8_t*>(output.data);
    for (int64_t row = 0; row < int64_t{kFrames} * input.height; ++row) {
      for (int x = 0; x < input.width; ++x) {
        const int64_t from = (row * input.width + x) * 3;
        const int64_t to = (row * input.width + input.width - 1 - x) * 3;
        ASSERT_EQ(std::memcmp(in + from, out + to, 3), 0);
      }
    }
  }
}

}  // namespace
}  // namespace feedrate
