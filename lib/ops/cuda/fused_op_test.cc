// Every entry of configs/transforms/ for the library cuda, with the kernels'
// arithmetic on the host: the expected size, the same output for the same seed,
// and agreement with the reference.
#include "lib/ops/cuda/fused_op.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/media/corpus.h"
#include "lib/media/small_corpus.h"
#include "lib/ops/cuda/kernels/host_kernels.h"
#include "lib/ops/cuda/testing/run_on_host.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using fused::HostImage;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class FusedOpTest : public ::testing::Test {
 protected:
  FusedOpTest() : catalogue_(Catalogue::Load("configs").value()) {}

  void TryEntry(const Transform& transform, const Implementation& entry) {
    const auto op = MakeFusedOp(CudaSpecOf(transform, entry));
    ASSERT_TRUE(op.ok()) << op.status();
    for (int64_t i = 0; i < corpus_.size(); ++i) {
      const HostImage input = HostImageOf(corpus_.item(i));
      const HostImage output = RunOnHost(*op, input, 7);
      const std::string bytes = BytesOfImage(output);
      EXPECT_EQ(BytesOfImage(RunOnHost(*op, input, 7)), bytes);
      OutputView view;
      view.data = bytes.data();
      view.bytes = static_cast<int64_t>(bytes.size());
      view.dtype = "uint8";
      view.layout = "HWC";
      view.height = output.height;
      view.width = output.width;
      view.channels = 3;
      const auto read = ReadOutput(view);
      ASSERT_TRUE(read.ok()) << read.status();
      const auto compared = CheckOutput(
          transform, entry,
          PixelsFromBytes(static_cast<const uint8_t*>(corpus_.item(i).data),
                          input.height, input.width, 3),
          *read);
      ASSERT_TRUE(compared.ok()) << compared.status();
      // The profile `paper` draws for each image, or does what the public
      // libraries do, which differs in places.
      if (entry.params_profile() != "matched") {
        EXPECT_NE(compared->label, "noop");
        continue;
      }
      EXPECT_THAT(compared->label, AnyOf("exact", "equivalent"))
          << "differs by " << compared->max_abs_diff.value_or(-1) << ", PSNR "
          << compared->psnr_db.value_or(-1);
    }
  }

  Catalogue catalogue_;
  Corpus corpus_ = SmallCorpus(3);
};

TEST_F(FusedOpTest, EveryEntryMeansWhatTheReferenceSays) {
  const TransformSet& set =
      **catalogue_.Transforms(*catalogue_.FindScenario("image-rgb"));
  int entries = 0;
  int compared = 0;
  for (const Transform& transform : set.transforms()) {
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "cuda") continue;
      // Recipes of a loader: see lib/loader/cuda/gpu_recipe_test.
      if (transform.set() == "training") continue;
      SCOPED_TRACE(absl::StrCat(transform.name(), " ", entry.params_profile()));
      TryEntry(transform, entry);
      ++entries;
      compared += entry.params_profile() == "matched";
    }
  }
  EXPECT_EQ(entries, 52);
  EXPECT_EQ(compared, 26);
}

// Frames of clips use the same launch.
TEST_F(FusedOpTest, EveryEntryOfNvdecDoesSomething) {
  const TransformSet& set =
      **catalogue_.Transforms(*catalogue_.FindScenario("video-16f"));
  int entries = 0;
  for (const Transform& transform : set.transforms()) {
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "nvdec") continue;
      SCOPED_TRACE(transform.name());
      TryEntry(transform, entry);
      ++entries;
    }
  }
  EXPECT_EQ(entries, 12);
}

TEST_F(FusedOpTest, MistakesAreNamed) {
  TransformSpec spec;
  spec.transform = "GaussianBlur";
  spec.native_op = "gaussian_blur";
  spec.params = {"size=4", "sigma=2"};
  EXPECT_THAT(std::string(MakeFusedOp(spec).status().message()),
              HasSubstr("must be odd"));
  spec.params = {"size=5", "sigma=2", "color=red"};
  EXPECT_THAT(std::string(MakeFusedOp(spec).status().message()),
              HasSubstr("color"));
  spec.native_op = "sharpen";
  EXPECT_THAT(std::string(MakeFusedOp(spec).status().message()),
              HasSubstr("no operation sharpen"));
}

TEST(SolvePerspectiveTest, CornersAreReadWhereTheyWereSaidToBe) {
  fused::Corners to;
  const double x[4] = {3, 90, -2, 97};
  const double y[4] = {1, -4, 49, 55};
  std::copy(x, x + 4, to.x);
  std::copy(y, y + 4, to.y);
  const fused::Projection p = fused::SolvePerspective(to, 51, 101);
  for (int i = 0; i < 4; ++i) {
    const fused::Place place =
        fused::ReadPlace(p, i % 2 == 1 ? 100 : 0, i / 2 == 1 ? 50 : 0);
    EXPECT_NEAR(place.x, x[i], 1e-3);
    EXPECT_NEAR(place.y, y[i], 1e-3);
  }
}

using fused::ByteImage;

FusedOp OpOf(const std::string& native_op,
             const std::vector<std::string>& params) {
  TransformSpec spec;
  spec.native_op = native_op;
  spec.params = params;
  return MakeFusedOp(spec).value();
}

// Addresses that are never read.
uint8_t* Address(int64_t at) { return reinterpret_cast<uint8_t*>(at); }

CallPacker PackerOf(const FusedOp* op, const std::vector<FusedSize>& sizes) {
  CallPacker packer(op);
  for (size_t i = 0; i < sizes.size(); ++i) {
    packer.AddInput({Address(1000 * (i + 1)), sizes[i].height, sizes[i].width,
                     3 * sizes[i].width});
  }
  packer.SetOutputs(Address(1 << 20), 4096);
  return packer;
}

struct Block {
  explicit Block(int64_t bytes) : words((bytes + 7) / 8 + 1, 0xCDCDCDCD) {}
  uint8_t* data() { return reinterpret_cast<uint8_t*>(words.data()); }
  std::vector<uint64_t> words;
};

TEST(PackCallTest, InputsOutputsAndParametersInTurn) {
  const FusedOp op = OpOf("crop", {"size=(10,20)", "position=uniform"});
  const CallPacker packer = PackerOf(&op, {{30, 40}, {50, 60}, {15, 25}});
  Block block(packer.BlockBytes(4));
  Random random(3);
  const CallPacker::Packed packed = packer.Pack(2, 4, 3, &random, block.data());
  EXPECT_EQ(packed.bytes, 4 * (2 * 24 + 32));
  EXPECT_EQ(packed.largest.height, 10);
  EXPECT_EQ(packed.largest.width, 20);
  const auto* in = reinterpret_cast<const ByteImage*>(block.data());
  const int64_t items[] = {2, 0, 1, 2};
  Random again(3);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(in[i].data, Address(1000 * (items[i] + 1)));
    EXPECT_EQ(in[4 + i].data, Address((1 << 20) + 4096 * i));
    EXPECT_EQ(in[4 + i].height, 10);
    EXPECT_EQ(in[4 + i].stride, 60);
    FusedParams expected;
    op.draw(packer.in_size(items[i]), &again, &expected);
    fused::Projection written;
    std::memcpy(&written, block.data() + 4 * 48 + 32 * i, 32);
    EXPECT_EQ(std::memcmp(&written, &expected.projection, 32), 0) << i;
  }
  // Nothing is written behind it.
  EXPECT_EQ(block.words[packed.bytes / 8], 0xCDCDCDCD);
}

TEST(PackCallTest, WhatIsFixedIsDrawnForEachSize) {
  const FusedOp op = OpOf("flip", {"axis=horizontal"});
  EXPECT_TRUE(op.fixed);
  const CallPacker packer = PackerOf(&op, {{8, 16}, {8, 16}, {8, 32}, {8, 16}});
  Block block(packer.BlockBytes(4));
  Random random(1);
  packer.Pack(0, 4, 4, &random, block.data());
  const float lasts[] = {15, 15, 31, 15};
  for (int i = 0; i < 4; ++i) {
    fused::Projection written;
    std::memcpy(&written, block.data() + 4 * 48 + 32 * i, 32);
    EXPECT_EQ(written.h[2], lasts[i]) << i;
  }
}

TEST(PackCallTest, OnlyWhatNeverDrawsIsFixed) {
  EXPECT_FALSE(OpOf("crop", {"size=(8,8)", "position=uniform"}).fixed);
  EXPECT_TRUE(OpOf("crop", {"size=(8,8)", "position=center"}).fixed);
  EXPECT_TRUE(OpOf("affine", {"degrees=30"}).fixed);
  EXPECT_FALSE(OpOf("affine", {"degrees=U(-30,30)"}).fixed);
  EXPECT_FALSE(OpOf("affine", {"degrees=30", "scale=U(1,2)"}).fixed);
  EXPECT_FALSE(OpOf("perspective", {"distortion_scale=0.5"}).fixed);
  EXPECT_TRUE(OpOf("jitter", {"brightness=1.2"}).fixed);
  EXPECT_FALSE(OpOf("jitter", {"brightness=1.2", "order=random"}).fixed);
  EXPECT_FALSE(OpOf("jitter", {"hue=U(-0.1,0.1)"}).fixed);
  EXPECT_FALSE(OpOf("gaussian_blur", {"size=5", "sigma=U(1,2)"}).fixed);
  EXPECT_FALSE(OpOf("tone", {"kind=multiply", "amount=U(1,2)"}).fixed);
  EXPECT_FALSE(
      OpOf("resized_crop", {"size=(8,8)", "scale=(1,1)", "ratio=(1,1)"}).fixed);
}

TEST(PackCallTest, WhatHasNoParametersSendsNone) {
  const FusedOp op = OpOf("equalize", {});
  const CallPacker packer = PackerOf(&op, {{8, 16}});
  Block block(packer.BlockBytes(2));
  Random random(1);
  EXPECT_EQ(packer.Pack(0, 2, 1, &random, block.data()).bytes, 2 * 48);
}

}  // namespace
}  // namespace feedrate
