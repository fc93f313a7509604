#include "lib/adapters/cuda/pack_call.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

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
  // Nothing behind it.
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
