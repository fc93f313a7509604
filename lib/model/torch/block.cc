#include "lib/model/torch/block.h"

#include <cmath>

namespace feedrate {
namespace {

// Of the published ViT-5 and of most vision transformers.
constexpr double kDeviation = 0.02;
// LayerScale of images starts small, so that deep models begin near the
// identity; text starts at 1, as GPTs do.
constexpr double kImageScale = 1e-1;

}  // namespace

Block MakeBlock(const ModelSpec& spec, const std::string& prefix,
                WeightMaker* weights) {
  const int64_t width = spec.width;
  const int64_t hidden = spec.mlp_width();
  const double scale = spec.kind == ModelKind::kVit ? kImageScale : 1;
  // Products that are added to the stream: smaller the more there are.
  const double added = kDeviation / std::sqrt(2.0 * spec.layers);
  const auto name = [&prefix](const char* part) { return prefix + "." + part; };
  Block block;
  block.heads = spec.heads;
  block.causal = spec.kind == ModelKind::kByteLm;
  block.attention_norm = weights->Constant(name("attention_norm"), {width}, 1);
  block.qkv = weights->Normal(name("qkv"), {3 * width, width}, kDeviation);
  block.q_norm = weights->Constant(name("q_norm"), {spec.head_width()}, 1);
  block.k_norm = weights->Constant(name("k_norm"), {spec.head_width()}, 1);
  block.projection = weights->Normal(name("projection"), {width, width}, added);
  block.attention_scale =
      weights->Constant(name("attention_scale"), {width}, scale);
  block.mlp_norm = weights->Constant(name("mlp_norm"), {width}, 1);
  block.up = weights->Normal(name("up"), {hidden, width}, kDeviation);
  block.up_bias = weights->Constant(name("up_bias"), {hidden}, 0);
  block.down = weights->Normal(name("down"), {width, hidden}, added);
  block.down_bias = weights->Constant(name("down_bias"), {width}, 0);
  block.mlp_scale = weights->Constant(name("mlp_scale"), {width}, scale);
  return block;
}

at::Tensor RunBlock(const Parts& parts, const Block& block,
                    const Rotation& rotation, const at::Tensor& x) {
  const at::Tensor qkv = parts.Linear(parts.RmsNorm(x, block.attention_norm),
                                      block.qkv, /*bias=*/{});
  const HeadTensors heads = parts.SplitNormRotate(
      qkv, block.heads, block.q_norm, block.k_norm, rotation);
  const at::Tensor mixed = parts.Linear(parts.Attention(heads, block.causal),
                                        block.projection, /*bias=*/{});
  const at::Tensor middle =
      parts.ScaledResidual(x, block.attention_scale, mixed);
  const at::Tensor mlp =
      parts.Mlp(parts.RmsNorm(middle, block.mlp_norm), block.up, block.up_bias,
                block.down, block.down_bias);
  return parts.ScaledResidual(middle, block.mlp_scale, mlp);
}

}  // namespace feedrate
