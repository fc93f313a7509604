#include "lib/model/torch/model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cmath>
#include <map>

#include "lib/model/safetensors.h"

namespace feedrate {
namespace {

// As in the published ViT-5 and most vision transformers.
constexpr double kDeviation = 0.02;
// LayerScale for images starts small, so that deep models start near the
// identity; for text it starts at 1, as in GPTs.
constexpr double kImageScale = 1e-1;

// Draws initial weights on the CPU from one seed, in the order of the calls,
// moves them to the device, and lists them.
class WeightMaker {
 public:
  // `parameters` must outlive it.
  WeightMaker(const ModelSpec& spec, const ModelOptions& options,
              std::vector<Parameter>* parameters);

  // Names are those of WeightsOf. Normal distribution clipped at two standard
  // deviations.
  at::Tensor Normal(const std::string& name, double deviation);
  at::Tensor Constant(const std::string& name, double value);

 private:
  const std::vector<int64_t>& ShapeOf(const std::string& name) const {
    return shapes_.at(name);
  }
  at::Tensor Add(const std::string& name, const at::Tensor& value);

  std::map<std::string, std::vector<int64_t>> shapes_;
  const at::Device device_;
  at::Generator generator_;
  std::vector<Parameter>* const parameters_;
};

WeightMaker::WeightMaker(const ModelSpec& spec, const ModelOptions& options,
                         std::vector<Parameter>* parameters)
    : device_(options.device),
      generator_(at::detail::createCPUGenerator(options.seed)),
      parameters_(parameters) {
  for (const WeightShape& weight : WeightsOf(spec)) {
    shapes_[weight.name] = weight.shape;
  }
}

at::Tensor WeightMaker::Normal(const std::string& name, double deviation) {
  const at::Tensor value = at::empty(ShapeOf(name), at::kFloat);
  value.normal_(0, deviation, generator_).clamp_(-2 * deviation, 2 * deviation);
  return Add(name, value);
}

at::Tensor WeightMaker::Constant(const std::string& name, double number) {
  return Add(name, at::full(ShapeOf(name), number, at::kFloat));
}

at::Tensor WeightMaker::Add(const std::string& name, const at::Tensor& value) {
  Parameter parameter;
  parameter.name = name;
  parameter.value = value.to(device_).set_requires_grad(true);
  parameter.decays = value.dim() >= 2;
  parameters_->push_back(parameter);
  return parameter.value;
}

// One transformer block: attention and MLP, each after a norm, each added with
// its own scale.
struct Block {
  int64_t heads = 0;
  bool causal = false;
  at::Tensor attention_norm;
  at::Tensor qkv;
  at::Tensor q_norm;
  at::Tensor k_norm;
  at::Tensor projection;
  at::Tensor attention_scale;
  at::Tensor mlp_norm;
  at::Tensor up;
  at::Tensor up_bias;
  at::Tensor down;
  at::Tensor down_bias;
  at::Tensor mlp_scale;
};

// Makes the weights of a block, named `prefix`.qkv and so on.
Block MakeBlock(const ModelSpec& spec, const std::string& prefix,
                WeightMaker* weights) {
  const double scale = spec.kind == ModelKind::kVit ? kImageScale : 1;
  // Products that are added to the residual stream: smaller the more there are.
  const double added = kDeviation / std::sqrt(2.0 * spec.layers);
  const auto name = [&prefix](const char* part) { return prefix + "." + part; };
  Block block;
  block.heads = spec.heads;
  block.causal = spec.kind == ModelKind::kByteLm;
  block.attention_norm = weights->Constant(name("attention_norm"), 1);
  block.qkv = weights->Normal(name("qkv"), kDeviation);
  block.q_norm = weights->Constant(name("q_norm"), 1);
  block.k_norm = weights->Constant(name("k_norm"), 1);
  block.projection = weights->Normal(name("projection"), added);
  block.attention_scale = weights->Constant(name("attention_scale"), scale);
  block.mlp_norm = weights->Constant(name("mlp_norm"), 1);
  block.up = weights->Normal(name("up"), kDeviation);
  block.up_bias = weights->Constant(name("up_bias"), 0);
  block.down = weights->Normal(name("down"), added);
  block.down_bias = weights->Constant(name("down_bias"), 0);
  block.mlp_scale = weights->Constant(name("mlp_scale"), scale);
  return block;
}

// The scale of branch number `branch` for each sample.
at::Tensor ScaleOf(const at::Tensor& scale, const at::Tensor& kept,
                   int64_t branch) {
  if (!kept.defined()) return scale;
  return scale.mul(kept.select(0, branch).view({-1, 1, 1}));
}

// Maps batch x tokens x width to the same shape. `rotation` has as many tokens.
// `kept` has the rows of this block, or is undefined.
at::Tensor RunBlock(const Parts& parts, const Block& block,
                    const Rotation& rotation, const at::Tensor& kept,
                    const at::Tensor& x) {
  const at::Tensor qkv = parts.Linear(parts.RmsNorm(x, block.attention_norm),
                                      block.qkv, /*bias=*/{});
  const HeadTensors heads = parts.SplitNormRotate(
      qkv, block.heads, block.q_norm, block.k_norm, rotation);
  const at::Tensor mixed = parts.Linear(parts.Attention(heads, block.causal),
                                        block.projection, /*bias=*/{});
  const at::Tensor middle =
      parts.ScaledResidual(x, ScaleOf(block.attention_scale, kept, 0), mixed);
  const at::Tensor mlp =
      parts.Mlp(parts.RmsNorm(middle, block.mlp_norm), block.up, block.up_bias,
                block.down, block.down_bias);
  return parts.ScaledResidual(middle, ScaleOf(block.mlp_scale, kept, 1), mlp);
}

// The blocks and the last norm, which both models share.
class Trunk {
 public:
  Trunk(const ModelSpec& spec, const ModelOptions& options,
        WeightMaker* weights)
      : recompute_(options.activation_checkpointing) {
    for (int64_t i = 0; i < spec.layers; ++i) {
      blocks_.push_back(
          MakeBlock(spec, "blocks." + std::to_string(i), weights));
    }
    norm_ = weights->Constant("norm", 1);
    rotation_ = MakeRotation(spec);
    rotation_.cos = rotation_.cos.to(options.device);
    rotation_.sin = rotation_.sin.to(options.device);
  }

  at::Tensor Run(const Parts& parts, const at::Tensor& kept,
                 at::Tensor x) const {
    const Rotation rotation = {rotation_.cos.narrow(0, 0, x.size(1)),
                               rotation_.sin.narrow(0, 0, x.size(1))};
    int64_t branch = 0;
    for (const Block& block : blocks_) {
      const at::Tensor rows =
          kept.defined() ? kept.narrow(0, branch, 2) : at::Tensor();
      branch += 2;
      const auto run = [&parts, &block, rotation, rows](const at::Tensor& in) {
        return RunBlock(parts, block, rotation, rows, in);
      };
      x = recompute_ && x.requires_grad() ? Recompute(run, x) : run(x);
    }
    return x;
  }

  at::Tensor Norm(const Parts& parts, const at::Tensor& x) const {
    return parts.RmsNorm(x, norm_);
  }

 private:
  const bool recompute_;
  std::vector<Block> blocks_;
  at::Tensor norm_;
  Rotation rotation_;
};

class Vit5 : public Model {
 public:
  Vit5(const ModelSpec& spec, const ModelOptions& options)
      : Model(spec, options) {
    WeightMaker weights(spec, options, &parameters_);
    patch_ = weights.Normal("patch", kDeviation);
    patch_bias_ = weights.Constant("patch_bias", 0);
    class_token_ = weights.Normal("class_token", kDeviation);
    registers_ = weights.Normal("registers", kDeviation);
    trunk_ = std::make_unique<Trunk>(spec, options, &weights);
    head_ = weights.Normal("head", kDeviation);
    head_bias_ = weights.Constant("head_bias", 0);
  }

  at::Tensor Forward(const at::Tensor& input,
                     const at::Tensor& kept) const override {
    const at::Tensor patches =
        parts_->Linear(Patches(input), patch_, patch_bias_);
    const int64_t batch = input.size(0);
    at::Tensor x = at::cat({class_token_.expand({batch, -1, -1}),
                            registers_.expand({batch, -1, -1}), patches},
                           /*dim=*/1);
    x = trunk_->Run(*parts_, kept, x);
    // Only the class token is used, so only it needs the last norm.
    x = trunk_->Norm(*parts_, x.select(1, 0));
    return parts_->Linear(x, head_, head_bias_);
  }

 private:
  // A convolution whose stride equals its size is one product.
  at::Tensor Patches(const at::Tensor& image) const {
    const int64_t size = spec_.patch_size;
    const int64_t side = spec_.image_size / size;
    return image.view({image.size(0), spec_.channels, side, size, side, size})
        .permute({0, 2, 4, 1, 3, 5})
        .reshape({image.size(0), side * side, spec_.patch_values()});
  }

  at::Tensor patch_;
  at::Tensor patch_bias_;
  at::Tensor class_token_;
  at::Tensor registers_;
  std::unique_ptr<Trunk> trunk_;
  at::Tensor head_;
  at::Tensor head_bias_;
};

class ByteLm : public Model {
 public:
  ByteLm(const ModelSpec& spec, const ModelOptions& options)
      : Model(spec, options) {
    WeightMaker weights(spec, options, &parameters_);
    embedding_ = weights.Normal("embedding", kDeviation);
    trunk_ = std::make_unique<Trunk>(spec, options, &weights);
    head_ = weights.Normal("head", kDeviation);
  }

  at::Tensor Forward(const at::Tensor& input,
                     const at::Tensor& kept) const override {
    const at::Tensor x =
        trunk_->Run(*parts_, kept, at::embedding(embedding_, input));
    return parts_->Linear(trunk_->Norm(*parts_, x), head_, /*bias=*/{});
  }

 private:
  at::Tensor embedding_;
  std::unique_ptr<Trunk> trunk_;
  at::Tensor head_;
};

}  // namespace

Model::Model(const ModelSpec& spec, const ModelOptions& options)
    : spec_(spec),
      parts_(options.parts != nullptr ? options.parts : &EagerParts()) {}

std::unique_ptr<Model> MakeModel(const ModelSpec& spec,
                                 const ModelOptions& options) {
  if (spec.kind == ModelKind::kVit) {
    return std::make_unique<Vit5>(spec, options);
  }
  return std::make_unique<ByteLm>(spec, options);
}

}  // namespace feedrate
