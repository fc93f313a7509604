#include "lib/model/torch/model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>

#include "lib/model/torch/block.h"
#include "lib/model/torch/recompute.h"
#include "lib/model/torch/rotation.h"
#include "lib/model/torch/weights.h"

namespace feedrate {
namespace {

constexpr double kDeviation = 0.02;

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
    norm_ = weights->Constant("norm", {spec.width}, 1);
    rotation_ = MakeRotation(spec);
    rotation_.cos = rotation_.cos.to(options.device);
    rotation_.sin = rotation_.sin.to(options.device);
  }

  at::Tensor Run(const Parts& parts, at::Tensor x) const {
    const Rotation rotation = {rotation_.cos.narrow(0, 0, x.size(1)),
                               rotation_.sin.narrow(0, 0, x.size(1))};
    for (const Block& block : blocks_) {
      const auto run = [&parts, &block, rotation](const at::Tensor& in) {
        return RunBlock(parts, block, rotation, in);
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
    WeightMaker weights(options, &parameters_);
    patch_ =
        weights.Normal("patch", {spec.width, spec.patch_values()}, kDeviation);
    patch_bias_ = weights.Constant("patch_bias", {spec.width}, 0);
    class_token_ =
        weights.Normal("class_token", {1, 1, spec.width}, kDeviation);
    registers_ = weights.Normal("registers", {1, spec.registers, spec.width},
                                kDeviation);
    trunk_ = std::make_unique<Trunk>(spec, options, &weights);
    head_ = weights.Normal("head", {spec.classes, spec.width}, kDeviation);
    head_bias_ = weights.Constant("head_bias", {spec.classes}, 0);
  }

  at::Tensor Forward(const at::Tensor& input) const override {
    const at::Tensor patches =
        parts_->Linear(Patches(input), patch_, patch_bias_);
    const int64_t batch = input.size(0);
    at::Tensor x = at::cat({class_token_.expand({batch, -1, -1}),
                            registers_.expand({batch, -1, -1}), patches},
                           /*dim=*/1);
    x = trunk_->Run(*parts_, x);
    // Only the class token is looked at, so only it needs the last norm.
    x = trunk_->Norm(*parts_, x.select(1, 0));
    return parts_->Linear(x, head_, head_bias_);
  }

 private:
  // A convolution whose step is its size is one product.
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
    WeightMaker weights(options, &parameters_);
    embedding_ =
        weights.Normal("embedding", {spec.vocabulary, spec.width}, kDeviation);
    trunk_ = std::make_unique<Trunk>(spec, options, &weights);
    head_ = weights.Normal("head", {spec.vocabulary, spec.width}, kDeviation);
  }

  at::Tensor Forward(const at::Tensor& input) const override {
    const at::Tensor x = trunk_->Run(*parts_, at::embedding(embedding_, input));
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
