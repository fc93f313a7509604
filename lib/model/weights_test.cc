#include "lib/model/weights.h"

#include <gtest/gtest.h>

namespace feedrate {
namespace {

TEST(WeightsTest, AreTheParametersThatAreCounted) {
  for (const ModelSpec& spec : ModelSpecs()) {
    int64_t values = 0;
    for (const WeightShape& weight : WeightsOf(spec)) {
      int64_t product = 1;
      for (const int64_t size : weight.shape) product *= size;
      values += product;
    }
    EXPECT_EQ(values, CountParameters(spec)) << spec.name;
  }
}

TEST(WeightsTest, NamesAreThoseOfModules) {
  EXPECT_EQ(ModuleNameOf("patch"), "patch.weight");
  EXPECT_EQ(ModuleNameOf("patch_bias"), "patch.bias");
  EXPECT_EQ(ModuleNameOf("class_token"), "class_token");
  EXPECT_EQ(ModuleNameOf("registers"), "registers");
  EXPECT_EQ(ModuleNameOf("blocks.3.q_norm"), "blocks.3.q_norm.weight");
  EXPECT_EQ(ModuleNameOf("blocks.3.down_bias"), "blocks.3.down.bias");
  EXPECT_EQ(ModuleNameOf("blocks.3.mlp_scale"), "blocks.3.mlp_scale");
}

SafetensorsHeader HeaderOf(const ModelSpec& spec) {
  SafetensorsHeader header;
  for (const WeightShape& weight : WeightsOf(spec)) {
    SafetensorsTensor tensor;
    tensor.name = ModuleNameOf(weight.name);
    tensor.type = "F32";
    tensor.shape = weight.shape;
    header.tensors.push_back(tensor);
  }
  return header;
}

TEST(WeightsTest, AFileHasExactlyTheWeightsOfTheModel) {
  const ModelSpec& spec = *ModelNamed("vit5_tiny");
  EXPECT_EQ(CheckWeights(HeaderOf(spec), spec), "");
  EXPECT_EQ(CheckWeights(HeaderOf(*ModelNamed("vit5_small")), spec),
            "has patch.weight of shape 384x768; vit5_tiny needs 64x48");
  EXPECT_EQ(CheckWeights(HeaderOf(*ModelNamed("byte_lm_tiny")), spec),
            "has no patch.weight, which vit5_tiny needs");
  SafetensorsHeader header = HeaderOf(spec);
  header.tensors.back().type = "BF16";
  EXPECT_EQ(CheckWeights(header, spec),
            "has head.bias as BF16; save it as F32, such as by tensor.float()");
  header = HeaderOf(spec);
  header.tensors.pop_back();
  EXPECT_EQ(CheckWeights(header, spec),
            "has no head.bias, which vit5_tiny needs");
  header = HeaderOf(spec);
  header.tensors.push_back(header.tensors[0]);
  header.tensors.back().name = "fc.weight";
  EXPECT_EQ(CheckWeights(header, spec),
            "has \"fc.weight\", which is no weight of vit5_tiny");
  header = HeaderOf(spec);
  header.tensors[4].shape.clear();
  EXPECT_EQ(CheckWeights(header, spec),
            "has blocks.0.attention_norm.weight of shape a single number; "
            "vit5_tiny needs 64");
}

}  // namespace
}  // namespace feedrate
