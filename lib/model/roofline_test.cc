#include "lib/model/roofline.h"

#include <gtest/gtest.h>

#include "lib/model/flops.h"

namespace feedrate {
namespace {

TEST(RooflineTest, WithEndlessBandwidthOnlyProductsCost) {
  const ModelSpec& spec = *ModelNamed("vit5_small");
  RooflineInput input;
  input.samples = 8;
  input.matmul_flops = 1e12;
  input.copy_bytes = 1e30;
  EXPECT_NEAR(RooflineOf(spec, input).step_s, 8 * ExactFlops(spec) / 1e12,
              1e-9);
}

TEST(RooflineTest, WithEndlessProductsOnlyBytesCost) {
  const ModelSpec& spec = *ModelNamed("vit5_small");
  RooflineInput input;
  input.samples = 8;
  input.matmul_flops = 1e30;
  input.copy_bytes = 1e9;
  const Roofline roofline = RooflineOf(spec, input);
  EXPECT_NEAR(roofline.step_s, roofline.bytes / 1e9, 1e-6);
}

TEST(RooflineTest, MoreBatchesReadWeightsMoreOften) {
  const ModelSpec& spec = *ModelNamed("vit5_tiny");
  RooflineInput input;
  input.samples = 32;
  input.matmul_flops = 1e12;
  input.copy_bytes = 1e10;
  const double once = RooflineOf(spec, input).bytes;
  input.batches = 4;
  EXPECT_GT(RooflineOf(spec, input).bytes, once);
}

TEST(RooflineTest, PeaksAreFoundByPartOfTheName) {
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA H200", "bf16"), 989.4e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA H100 PCIe", "bf16"), 756e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA A100-SXM4-80GB", "tf32"), 156e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA L40S", "fp32"), 91.6e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("Some GPU", "bf16"), 0);
}

// The figure of the public report: 7,255 samples/s of ViT-5 small.
TEST(RooflineTest, ExactMfuOfAKnownMeasurement) {
  const double mfu = 7255 * ExactFlops(*ModelNamed("vit5_small")) /
                     PeakOfGpu("NVIDIA H200", "bf16");
  EXPECT_NEAR(mfu, 0.207, 0.0005);
}

}  // namespace
}  // namespace feedrate
