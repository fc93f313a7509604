#include "lib/model/flops.h"

#include <gtest/gtest.h>

#include <map>

namespace feedrate {
namespace {

std::map<std::string, FlopsPart> PartsOf(const std::string& model) {
  std::map<std::string, FlopsPart> parts;
  for (const FlopsPart& part : CountModel(*ModelNamed(model))) {
    parts[part.name] = part;
  }
  return parts;
}

FlopsPart Total(const std::string& model) {
  return TotalOf(CountModel(*ModelNamed(model)));
}

TEST(ModelSpecTest, ViT5SmallHas201Tokens) {
  const ModelSpec spec = *ModelNamed("vit5_small");
  EXPECT_EQ(spec.patches(), 196);
  EXPECT_EQ(spec.tokens(), 201);
  EXPECT_EQ(spec.head_width(), 64);
}

TEST(ModelSpecTest, WidthsFitHeadsAndPatchesFitImages) {
  for (const ModelSpec& spec : ModelSpecs()) {
    EXPECT_EQ(spec.width % spec.heads, 0) << spec.name;
    // Rotation works on pairs in two directions.
    EXPECT_EQ(spec.head_width() % 4, 0) << spec.name;
    if (spec.kind == ModelKind::kVit) {
      EXPECT_EQ(spec.image_size % spec.patch_size, 0) << spec.name;
    }
  }
}

TEST(ModelSpecTest, UnknownModelIsNull) {
  EXPECT_EQ(ModelNamed("vit5_smal"), nullptr);
}

// Computed by hand: 196 x 768 x 384 x 2 and so on.
TEST(FlopsTest, ViT5SmallByPart) {
  auto parts = PartsOf("vit5_small");
  EXPECT_EQ(parts["patch_embed"].forward_flops, 115605504);
  EXPECT_EQ(parts["qkv_projection"].forward_flops, 2845310976);
  EXPECT_EQ(parts["attention"].forward_flops, 744671232);
  EXPECT_EQ(parts["mlp"].forward_flops, 5690621952);
  EXPECT_EQ(parts["head"].forward_flops, 768000);
}

TEST(FlopsTest, ViT5SmallTotals) {
  const FlopsPart total = Total("vit5_small");
  EXPECT_NEAR(total.forward_flops / 1e9, 9.40, 0.005);
  EXPECT_NEAR(total.training_flops / 1e9, 28.2, 0.05);
  EXPECT_EQ(total.training_flops, 3 * total.forward_flops);
  EXPECT_EQ(total.training_flops - total.multiplied_flops, 115605504);
  EXPECT_NEAR(total.parameters / 1e6, 22, 0.5);
}

// A base block is a small block with all widths doubled.
TEST(FlopsTest, BaseIsFourTimesSmallInProducts) {
  auto small = PartsOf("vit5_small");
  auto base = PartsOf("vit5_base");
  EXPECT_EQ(base["mlp"].forward_flops, 4 * small["mlp"].forward_flops);
  EXPECT_EQ(base["attention"].forward_flops,
            2 * small["attention"].forward_flops);
  EXPECT_NEAR(Total("vit5_base").parameters / 1e6, 86, 1);
}

TEST(FlopsTest, CausalAttentionLooksBackOnly) {
  auto parts = PartsOf("byte_lm_tiny");
  EXPECT_EQ(parts["attention"].forward_flops,
            int64_t{4} * 4 * (256 * 257 / 2) * 128);
  EXPECT_EQ(parts["byte_embed"].forward_flops, 0);
  EXPECT_EQ(parts["byte_embed"].parameters, 256 * 128);
}

TEST(FlopsTest, TotalLeavesOutWhatIsNotCounted) {
  int64_t sum = 0;
  int64_t parameters = 0;
  for (const auto& part : PartsOf("vit5_tiny")) {
    if (part.second.counted) sum += part.second.forward_flops;
    parameters += part.second.parameters;
  }
  EXPECT_EQ(Total("vit5_tiny").forward_flops, sum);
  EXPECT_EQ(Total("vit5_tiny").parameters, parameters);
  EXPECT_FALSE(PartsOf("vit5_tiny")["elementwise"].counted);
}

TEST(FlopsTest, EstimatorsDifferByAttention) {
  const ModelSpec spec = *ModelNamed("vit5_small");
  EXPECT_DOUBLE_EQ(TransformerAware(spec) - SixNd(spec), 3 * 744671232.0);
  // 6 N D also counts the patch weights for class and register tokens.
  EXPECT_NEAR(TransformerAware(spec) / ExactFlops(spec), 1, 0.03);
}

TEST(FlopsTest, WeightsAreReadOnceABatch) {
  FlopsPart part;
  part.parameters = 100;
  part.activations = 10;
  part.forward_flops = 1000;
  EXPECT_EQ(part.ForwardBytes(1, 2), 220);
  EXPECT_EQ(part.ForwardBytes(10, 2), 400);
  EXPECT_DOUBLE_EQ(part.Intensity(10, 2), 25);
  EXPECT_DOUBLE_EQ(FlopsPart().Intensity(1, 2), 0);
}

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

TEST(RooflineTest, PeaksAreFoundByTheWholeName) {
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA H200", "bf16"), 989.4e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA H100 PCIe", "bf16"), 756e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA A100-SXM4-80GB", "tf32"), 156e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA H200", "fp8"), 1978.8e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA L40S", "fp32"), 91.6e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("Tesla T4", "fp32"), 8.1e12);
  EXPECT_DOUBLE_EQ(PeakOfGpu("NVIDIA A10", "bf16"), 125e12);
  // Other GPUs, and parts of one, whose names begin or go on like these.
  for (const char* gpu :
       {"Some GPU", "NVIDIA RTX A1000", "NVIDIA RTX A1000 Laptop GPU",
        "NVIDIA T400 4GB", "NVIDIA T4G", "NVIDIA A10M", "NVIDIA L40G",
        "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA", ""}) {
    EXPECT_DOUBLE_EQ(PeakOfGpu(gpu, "bf16"), 0) << gpu;
    EXPECT_DOUBLE_EQ(PeakOfGpu(gpu, "fp32"), 0) << gpu;
  }
}

// From the public report: 7,255 samples/s of ViT-5 small.
TEST(RooflineTest, ExactMfuOfAKnownMeasurement) {
  const double mfu = 7255 * ExactFlops(*ModelNamed("vit5_small")) /
                     PeakOfGpu("NVIDIA H200", "bf16");
  EXPECT_NEAR(mfu, 0.207, 0.0005);
}

}  // namespace
}  // namespace feedrate
