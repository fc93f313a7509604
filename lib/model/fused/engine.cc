#include "lib/model/fused/engine.h"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cstdio>
#include <stdexcept>
#include <tuple>

#include "lib/model/torch/parts.h"

namespace feedrate {

using fused::Bf16;
using fused::Product;

namespace {

constexpr int64_t kHeadWidth = 64;
constexpr size_t kWorkspaceBytes = 64 << 20;

cudaStream_t Stream() { return at::cuda::getCurrentCUDAStream(); }

Bf16* Half(const at::Tensor& t) { return static_cast<Bf16*>(t.data_ptr()); }
float* Floats(const at::Tensor& t) { return static_cast<float*>(t.data_ptr()); }

}  // namespace

// The three products of one matrix of weights.
struct FusedEngine::Layer {
  Layer(cublasLtHandle_t handle, const at::Tensor& workspace, Product forward,
        Product backward, int64_t rows, int64_t inputs, int64_t outputs,
        bool float_out = false)
      : forward(handle, {forward, rows, inputs, outputs, float_out},
                workspace.data_ptr(), kWorkspaceBytes),
        input_gradient(handle, {backward, rows, inputs, outputs, false},
                       workspace.data_ptr(), kWorkspaceBytes),
        weight_gradient(handle,
                        {Product::kWeightGradient, rows, inputs, outputs, true},
                        workspace.data_ptr(), kWorkspaceBytes) {}

  fused::TunedProduct forward, input_gradient, weight_gradient;
};

// The products of a block after attention, for a number of rows.
struct FusedEngine::BlockLayers {
  std::unique_ptr<Layer> projection, up, down;
};

// What the forward pass of one block leaves for the backward pass.
struct FusedEngine::Block {
  // Tokens per sample, and over the batch, that go on after attention: of the
  // last block of a ViT only the class token, since nobody looks at the others.
  int64_t queries = 0;
  int64_t rows = 0;
  BlockLayers* layers = nullptr;
  // The stream before the block and between its halves.
  at::Tensor x, middle;
  at::Tensor normed, middle_normed;
  at::Tensor rstd, middle_rstd;
  at::Tensor qkv, q, k;
  // `q`, `k`, `seed` and `offset`: of cuDNN's attention only.
  at::Tensor mixed, log_sum, seed, offset;
  at::Tensor attention_out, hidden, activated, mlp_out;
  Weight attention_norm, qkv_w, q_norm, k_norm, projection, attention_scale;
  Weight mlp_norm, up, up_bias, down, down_bias, mlp_scale;
};

std::string FusedEngineRefusal(const ModelSpec& spec) {
  if (spec.head_width() != kHeadWidth) return "its heads are not 64 wide";
  if (spec.kind == ModelKind::kVit && spec.tokens() > fused::kShortTokens) {
    return "it has more than " + std::to_string(fused::kShortTokens) +
           " tokens";
  }
  for (const int64_t width : {128, 256, 384, 512, 768}) {
    if (spec.width == width) return "";
  }
  return "it has no kernels of width " + std::to_string(spec.width);
}

FusedEngine::FusedEngine(const ModelSpec& spec,
                         const std::vector<Parameter>& parameters,
                         const OptimizerOptions& optimizer, int64_t batch)
    : spec_(spec),
      optimizer_(optimizer),
      batch_(batch),
      rows_(batch * spec.tokens()),
      is_text_(spec.kind == ModelKind::kByteLm),
      head_rows_(is_text_ ? rows_ : batch) {
  const std::string refusal = FusedEngineRefusal(spec);
  if (!refusal.empty()) {
    throw std::runtime_error("the fused engine cannot train " + spec.name +
                             ": " + refusal);
  }
  if (optimizer.name != "adamw") {
    throw std::runtime_error("the fused engine has no optimizer " +
                             optimizer.name);
  }
  if (cublasLtCreate(&handle_) != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error("cuBLASLt does not start");
  }
  LayOutParameters(parameters);
  AllocateActivations();
  MakeProducts();
  Tune();
}

FusedEngine::~FusedEngine() {
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

at::Tensor FusedEngine::Bf16Buffer(at::IntArrayRef shape) const {
  return at::empty(shape, values_.options().dtype(at::kBFloat16));
}

at::Tensor FusedEngine::FloatBuffer(at::IntArrayRef shape) const {
  return at::empty(shape, values_.options());
}

void FusedEngine::LayOutParameters(const std::vector<Parameter>& parameters) {
  int64_t total = 0;
  for (const Parameter& p : parameters) {
    Weight weight;
    weight.offset = total;
    weight.shape = p.value.sizes().vec();
    weights_[p.name] = weight;
    names_.push_back(p.name);
    total +=
        (p.value.numel() + fused::kChunk - 1) / fused::kChunk * fused::kChunk;
  }
  const at::TensorOptions options = parameters[0].value.detach().options();
  values_ = at::zeros({total}, options);
  gradients_ = at::zeros({total}, options);
  first_ = at::zeros({total}, options);
  second_ = at::zeros({total}, options);
  rounded_ = at::zeros({total}, options.dtype(at::kBFloat16));
  at::Tensor decays = at::zeros({total / fused::kChunk}, at::kByte);
  for (const Parameter& p : parameters) {
    Weight& weight = weights_[p.name];
    const at::Tensor place =
        values_.narrow(0, weight.offset, p.value.numel()).view(weight.shape);
    place.copy_(p.value.detach());
    // The tensor stays the same object and now lies in the arena.
    at::Tensor value = p.value;
    value.set_data(place);
    weight.value = Floats(values_) + weight.offset;
    weight.gradient = Floats(gradients_) + weight.offset;
    weight.rounded = Half(rounded_) + weight.offset;
    if (p.decays) {
      const int64_t chunks =
          (p.value.numel() + fused::kChunk - 1) / fused::kChunk;
      decays.narrow(0, weight.offset / fused::kChunk, chunks).fill_(1);
    }
  }
  decays_ = decays.to(options.device());
  steps_ = at::zeros({1}, options);
  learning_rate_ = at::full({1}, optimizer_.learning_rate, options);
  loss_ = at::zeros({1}, options);
  norm_ = at::zeros({1}, options);
  ParametersChanged();
}

void FusedEngine::ParametersChanged() {
  fused::RoundToBf16(Floats(values_), Half(rounded_), values_.numel(),
                     Stream());
}

const FusedEngine::Weight& FusedEngine::Find(const std::string& name) const {
  const auto found = weights_.find(name);
  if (found == weights_.end()) {
    throw std::runtime_error("the model has no parameter " + name);
  }
  return found->second;
}

void FusedEngine::AllocateActivations() {
  const int64_t width = spec_.width, hidden = spec_.mlp_width();
  const int64_t heads = spec_.heads, tokens = spec_.tokens();
  const Rotation rotation = MakeRotation(spec_);
  cos_ = rotation.cos.to(values_.device()).contiguous();
  sin_ = rotation.sin.to(values_.device()).contiguous();
  if (is_text_) {
    one_hot_ = Bf16Buffer({rows_, spec_.vocabulary});
  } else {
    patches_ = Bf16Buffer({batch_ * spec_.patches(), spec_.patch_values()});
    patch_out_ = Bf16Buffer({batch_ * spec_.patches(), width});
  }
  for (int64_t i = 0; i < spec_.layers; ++i) {
    const std::string prefix = "blocks." + std::to_string(i) + ".";
    Block block;
    block.queries = !is_text_ && i + 1 == spec_.layers ? 1 : tokens;
    block.rows = batch_ * block.queries;
    block.x = FloatBuffer({rows_, width});
    block.middle = FloatBuffer({block.rows, width});
    block.normed = Bf16Buffer({rows_, width});
    block.middle_normed = Bf16Buffer({block.rows, width});
    block.rstd = FloatBuffer({rows_});
    block.middle_rstd = FloatBuffer({block.rows});
    block.qkv = Bf16Buffer({batch_, tokens, 3, heads, kHeadWidth});
    if (!is_text_) {
      block.mixed = Bf16Buffer({block.rows, width});
      block.log_sum = FloatBuffer({batch_, heads, fused::kShortTokens});
    } else {
      block.q = Bf16Buffer({batch_, tokens, heads, kHeadWidth});
      block.k = Bf16Buffer({batch_, tokens, heads, kHeadWidth});
    }
    block.attention_out = Bf16Buffer({block.rows, width});
    block.hidden = Bf16Buffer({block.rows, hidden});
    block.activated = Bf16Buffer({block.rows, hidden});
    block.mlp_out = Bf16Buffer({block.rows, width});
    block.attention_norm = Find(prefix + "attention_norm");
    block.qkv_w = Find(prefix + "qkv");
    block.q_norm = Find(prefix + "q_norm");
    block.k_norm = Find(prefix + "k_norm");
    block.projection = Find(prefix + "projection");
    block.attention_scale = Find(prefix + "attention_scale");
    block.mlp_norm = Find(prefix + "mlp_norm");
    block.up = Find(prefix + "up");
    block.up_bias = Find(prefix + "up_bias");
    block.down = Find(prefix + "down");
    block.down_bias = Find(prefix + "down_bias");
    block.mlp_scale = Find(prefix + "mlp_scale");
    blocks_.push_back(std::move(block));
  }
  stream_gradient_ = FloatBuffer({rows_, width});
  class_stream_gradient_ = FloatBuffer({head_rows_, width});
  branch_gradient_ = Bf16Buffer({rows_, width});
  normed_gradient_ = Bf16Buffer({rows_, width});
  wide_gradient_ = Bf16Buffer({rows_, hidden});
  qkv_gradient_ = Bf16Buffer({rows_, 3 * width});
  attention_gradient_ = Bf16Buffer({batch_, tokens, heads, kHeadWidth});
  class_x_ = FloatBuffer({head_rows_, width});
  class_normed_ = Bf16Buffer({head_rows_, width});
  class_rstd_ = FloatBuffer({head_rows_});
  class_gradient_ = Bf16Buffer({head_rows_, width});
  logits_ = FloatBuffer({head_rows_, spec_.outputs()});
  logits_gradient_ = Bf16Buffer({head_rows_, spec_.outputs()});
  row_loss_ = FloatBuffer({head_rows_});
  partial_ = FloatBuffer(
      {std::max<int64_t>(fused::PartialFloats(width), 128 * spec_.outputs())});
  workspace_ = at::empty({static_cast<int64_t>(kWorkspaceBytes)},
                         values_.options().dtype(at::kByte));
}

void FusedEngine::MakeProducts() {
  const int64_t width = spec_.width, hidden = spec_.mlp_width();
  const auto make = [&](Product forward, Product backward, int64_t rows,
                        int64_t inputs, int64_t outputs, bool float_out) {
    return std::make_unique<Layer>(handle_, workspace_, forward, backward, rows,
                                   inputs, outputs, float_out);
  };
  const Product plain = Product::kForward, back = Product::kInputGradient;
  qkv_ = make(plain, back, rows_, width, 3 * width, false);
  for (Block& block : blocks_) {
    const auto count = block.rows;
    BlockLayers& layers = block_layers_[count];
    if (layers.up == nullptr) {
      layers.projection = make(plain, back, count, width, width, false);
      layers.up =
          make(Product::kForwardGelu, back, count, width, hidden, false);
      layers.down =
          make(Product::kForwardBias, back, count, hidden, width, false);
    }
    block.layers = &layers;
  }
  head_ = make(is_text_ ? plain : Product::kForwardBias, back, head_rows_,
               width, spec_.outputs(), true);
  if (is_text_) {
    // Only the gradient of the embedding is a product.
    patch_ = make(plain, back, rows_, width, spec_.vocabulary, false);
  } else {
    patch_ = make(Product::kForwardBias, back, batch_ * spec_.patches(),
                  spec_.patch_values(), width, false);
  }
}

void FusedEngine::Forward(const at::Tensor& input) {
  if (is_text_) {
    if (input.size(0) != batch_ || input.size(1) != spec_.tokens()) {
      throw std::runtime_error("the fused engine trains on whole contexts");
    }
    input_ = input;
    fused::EmbedBytes(input.const_data_ptr<int64_t>(), Find("embedding").value,
                      Floats(blocks_[0].x), rows_, spec_.width, Stream());
  } else {
    EmbedPatches(input);
  }
  for (int64_t i = 0; i < spec_.layers; ++i) ForwardBlock(i);
}

void FusedEngine::EmbedPatches(const at::Tensor& images) {
  const cudaStream_t s = Stream();
  fused::Patchify(images.const_data_ptr<float>(), Half(patches_), batch_,
                  spec_.channels, spec_.image_size, spec_.patch_size, s);
  fused::ProductBuffers product;
  product.a = patches_.data_ptr();
  product.b = Find("patch").rounded;
  product.bias = Find("patch_bias").rounded;
  product.out = patch_out_.data_ptr();
  patch_->forward.Run(product, s);
  fused::AssembleTokens(Half(patch_out_), Find("class_token").value,
                        Find("registers").value, Floats(blocks_[0].x), batch_,
                        spec_.tokens(), 1 + spec_.registers, spec_.width, s);
}

void FusedEngine::ForwardBlock(int64_t index) {
  const cudaStream_t s = Stream();
  Block& block = blocks_[index];
  fused::AddNorm norm;
  norm.rows = rows_;
  norm.width = spec_.width;
  if (index == 0) {
    norm.x = Floats(block.x);
  } else {
    const Block& before = blocks_[index - 1];
    norm.x = Floats(before.middle);
    norm.y = Half(before.mlp_out);
    norm.scale = before.mlp_scale.value;
    norm.x_out = Floats(block.x);
  }
  norm.weight = block.attention_norm.value;
  norm.normed = Half(block.normed);
  norm.rstd = Floats(block.rstd);
  fused::RunAddNorm(norm, s);

  fused::ProductBuffers product;
  product.a = block.normed.data_ptr();
  product.b = block.qkv_w.rounded;
  product.out = block.qkv.data_ptr();
  qkv_->forward.Run(product, s);

  ForwardAttention(&block);

  product = {};
  product.a = block.mixed.data_ptr();
  product.b = block.projection.rounded;
  product.out = block.attention_out.data_ptr();
  block.layers->projection->forward.Run(product, s);

  norm.rows = block.rows;
  norm.stride = spec_.tokens() / block.queries;
  norm.x = Floats(block.x);
  norm.y = Half(block.attention_out);
  norm.scale = block.attention_scale.value;
  norm.weight = block.mlp_norm.value;
  norm.x_out = Floats(block.middle);
  norm.normed = Half(block.middle_normed);
  norm.rstd = Floats(block.middle_rstd);
  fused::RunAddNorm(norm, s);

  product = {};
  product.a = block.middle_normed.data_ptr();
  product.b = block.up.rounded;
  product.bias = block.up_bias.rounded;
  product.before = block.hidden.data_ptr();
  product.out = block.activated.data_ptr();
  block.layers->up->forward.Run(product, s);

  product = {};
  product.a = block.activated.data_ptr();
  product.b = block.down.rounded;
  product.bias = block.down_bias.rounded;
  product.out = block.mlp_out.data_ptr();
  block.layers->down->forward.Run(product, s);
}

fused::QkNormRope FusedEngine::RopeOf(const Block& block) const {
  fused::QkNormRope rope;
  rope.qkv = Half(block.qkv);
  rope.q_weight = block.q_norm.value;
  rope.k_weight = block.k_norm.value;
  rope.cos = Floats(cos_);
  rope.sin = Floats(sin_);
  rope.rows = rows_;
  rope.tokens = spec_.tokens();
  rope.heads = spec_.heads;
  return rope;
}

void FusedEngine::ForwardAttention(Block* block) {
  const cudaStream_t s = Stream();
  const fused::QkNormRope rope = RopeOf(*block);
  if (!is_text_) {
    fused::RunShortAttention(rope, block->queries, Half(block->mixed),
                             Floats(block->log_sum), s);
    return;
  }
  fused::RunQkNormRope(rope, Half(block->q), Half(block->k), s);
  auto attention = at::_scaled_dot_product_cudnn_attention(
      block->q.transpose(1, 2), block->k.transpose(1, 2),
      block->qkv.select(2, 2).transpose(1, 2), /*attn_bias=*/{},
      /*compute_log_sumexp=*/true, /*dropout_p=*/0.0, /*is_causal=*/is_text_);
  block->mixed = std::get<0>(attention).transpose(1, 2).contiguous();
  block->log_sum = std::get<1>(attention);
  block->seed = std::get<6>(attention);
  block->offset = std::get<7>(attention);
}

void FusedEngine::BackwardAttention(Block* block, bool accumulate) {
  const cudaStream_t s = Stream();
  const fused::QkNormRope rope = RopeOf(*block);
  if (!is_text_) {
    fused::RunShortAttentionBackward(
        rope, block->queries, Half(block->mixed), Floats(block->log_sum),
        Half(attention_gradient_), Half(qkv_gradient_), block->q_norm.gradient,
        block->k_norm.gradient, Floats(partial_), accumulate, s);
    return;
  }
  auto gradients = at::_scaled_dot_product_cudnn_attention_backward(
      attention_gradient_.transpose(1, 2), block->q.transpose(1, 2),
      block->k.transpose(1, 2), block->qkv.select(2, 2).transpose(1, 2),
      block->mixed.transpose(1, 2), block->log_sum, block->seed, block->offset,
      /*attn_bias=*/{}, /*cum_seq_q=*/{}, /*cum_seq_k=*/{}, spec_.tokens(),
      spec_.tokens(), /*dropout_p=*/0.0, /*is_causal=*/is_text_);
  const at::Tensor dq = std::get<0>(gradients).transpose(1, 2).contiguous();
  const at::Tensor dk = std::get<1>(gradients).transpose(1, 2).contiguous();
  const at::Tensor dv = std::get<2>(gradients).transpose(1, 2).contiguous();
  fused::RunQkNormRopeBackward(rope, Half(dq), Half(dk), Half(dv),
                               Half(qkv_gradient_), block->q_norm.gradient,
                               block->k_norm.gradient, Floats(partial_),
                               accumulate, s);
}

at::Tensor FusedEngine::Loss(const at::Tensor& target, double factor) {
  const cudaStream_t s = Stream();
  const Block& last = blocks_.back();
  fused::AddNorm norm;
  norm.x = Floats(last.middle);
  norm.y = Half(last.mlp_out);
  norm.scale = last.mlp_scale.value;
  norm.weight = Find("norm").value;
  norm.x_out = Floats(class_x_);
  norm.normed = Half(class_normed_);
  norm.rstd = Floats(class_rstd_);
  norm.rows = head_rows_;
  norm.width = spec_.width;
  fused::RunAddNorm(norm, s);
  fused::ProductBuffers product;
  product.a = class_normed_.data_ptr();
  product.b = Find("head").rounded;
  if (!is_text_) product.bias = Find("head_bias").value;
  product.out = logits_.data_ptr();
  head_->forward.Run(product, s);
  const bool hard = target.scalar_type() == at::kLong;
  fused::CrossEntropy(Floats(logits_),
                      hard ? target.const_data_ptr<int64_t>() : nullptr,
                      hard ? nullptr : target.const_data_ptr<float>(),
                      Floats(row_loss_), Half(logits_gradient_), head_rows_,
                      spec_.outputs(), factor / head_rows_, s);
  fused::SumTo(Floats(row_loss_), head_rows_, factor / head_rows_,
               /*accumulate=*/false, Floats(loss_), s);
  return loss_.clone();
}

void FusedEngine::Backward(bool first) {
  BackwardHead(!first);
  for (int64_t i = spec_.layers - 1; i >= 0; --i) BackwardBlock(i, !first);
  if (is_text_) {
    BackwardBytes(!first);
  } else {
    BackwardPatches(!first);
  }
}

void FusedEngine::BackwardHead(bool accumulate) {
  const cudaStream_t s = Stream();
  const Block& last = blocks_.back();
  const Weight& head = Find("head");
  fused::ProductBuffers product;
  if (!is_text_) {
    fused::SumRows(Half(logits_gradient_), batch_, spec_.classes, accumulate,
                   Find("head_bias").gradient, Floats(partial_), s);
  }
  product.a = logits_gradient_.data_ptr();
  product.b = head.rounded;
  product.out = class_gradient_.data_ptr();
  head_->input_gradient.Run(product, s);
  product.b = class_normed_.data_ptr();
  product.out = head.gradient;
  product.accumulate = accumulate;
  head_->weight_gradient.Run(product, s);

  fused::NormBackward back;
  back.dnormed = Half(class_gradient_);
  back.x = Floats(class_x_);
  back.rstd = Floats(class_rstd_);
  back.weight = Find("norm").value;
  back.y = Half(last.mlp_out);
  back.scale = last.mlp_scale.value;
  back.dx = Floats(StreamGradient(last));
  back.dy = Half(branch_gradient_);
  back.dweight = Find("norm").gradient;
  back.dscale = last.mlp_scale.gradient;
  back.dbias = last.down_bias.gradient;
  back.partial = Floats(partial_);
  back.rows = head_rows_;
  back.width = spec_.width;
  back.accumulate = accumulate;
  fused::RunNormBackward(back, s);
}

void FusedEngine::BackwardBlock(int64_t index, bool accumulate) {
  const cudaStream_t s = Stream();
  Block& block = blocks_[index];
  fused::ProductBuffers product;
  const auto weight_gradient = [&](Layer* layer, const at::Tensor& dy,
                                   const at::Tensor& x, const Weight& weight) {
    fused::ProductBuffers p;
    p.a = dy.data_ptr();
    p.b = x.data_ptr();
    p.out = weight.gradient;
    p.accumulate = accumulate;
    layer->weight_gradient.Run(p, s);
  };

  // MLP.
  BlockLayers& layers = *block.layers;
  weight_gradient(layers.down.get(), branch_gradient_, block.activated,
                  block.down);
  product.a = branch_gradient_.data_ptr();
  product.b = block.down.rounded;
  product.out = wide_gradient_.data_ptr();
  layers.down->input_gradient.Run(product, s);
  fused::GeluBackward(Half(block.hidden), Half(wide_gradient_),
                      block.up_bias.gradient, Floats(partial_), block.rows,
                      spec_.mlp_width(), accumulate, s);
  weight_gradient(layers.up.get(), wide_gradient_, block.middle_normed,
                  block.up);
  product = {};
  product.a = wide_gradient_.data_ptr();
  product.b = block.up.rounded;
  product.out = normed_gradient_.data_ptr();
  layers.up->input_gradient.Run(product, s);

  fused::NormBackward norm;
  norm.dnormed = Half(normed_gradient_);
  norm.x = Floats(block.middle);
  norm.rstd = Floats(block.middle_rstd);
  norm.weight = block.mlp_norm.value;
  norm.dresidual = Floats(StreamGradient(block));
  norm.y = Half(block.attention_out);
  norm.scale = block.attention_scale.value;
  norm.dx = Floats(StreamGradient(block));
  norm.dy = Half(branch_gradient_);
  norm.dweight = block.mlp_norm.gradient;
  norm.dscale = block.attention_scale.gradient;
  norm.partial = Floats(partial_);
  norm.rows = block.rows;
  norm.width = spec_.width;
  norm.accumulate = accumulate;
  fused::RunNormBackward(norm, s);

  // Attention.
  weight_gradient(layers.projection.get(), branch_gradient_, block.mixed,
                  block.projection);
  product = {};
  product.a = branch_gradient_.data_ptr();
  product.b = block.projection.rounded;
  product.out = attention_gradient_.data_ptr();
  layers.projection->input_gradient.Run(product, s);
  BackwardAttention(&block, accumulate);
  weight_gradient(qkv_.get(), qkv_gradient_, block.normed, block.qkv_w);
  product = {};
  product.a = qkv_gradient_.data_ptr();
  product.b = block.qkv_w.rounded;
  product.out = normed_gradient_.data_ptr();
  qkv_->input_gradient.Run(product, s);

  norm.x = Floats(block.x);
  norm.rstd = Floats(block.rstd);
  norm.weight = block.attention_norm.value;
  norm.dx = Floats(stream_gradient_);
  norm.dweight = block.attention_norm.gradient;
  norm.rows = rows_;
  norm.stride = spec_.tokens() / block.queries;
  if (index > 0) {
    const Block& before = blocks_[index - 1];
    norm.y = Half(before.mlp_out);
    norm.scale = before.mlp_scale.value;
    norm.dscale = before.mlp_scale.gradient;
    norm.dbias = before.down_bias.gradient;
  } else {
    norm.y = nullptr;
  }
  fused::RunNormBackward(norm, s);
}

const at::Tensor& FusedEngine::StreamGradient(const Block& block) const {
  return block.rows == rows_ ? stream_gradient_ : class_stream_gradient_;
}

void FusedEngine::BackwardBytes(bool accumulate) {
  const cudaStream_t s = Stream();
  fused::OneHot(input_.const_data_ptr<int64_t>(), Half(one_hot_), rows_,
                spec_.vocabulary, s);
  fused::RoundToBf16(Floats(stream_gradient_), Half(branch_gradient_),
                     stream_gradient_.numel(), s);
  fused::ProductBuffers product;
  product.a = one_hot_.data_ptr();
  product.b = branch_gradient_.data_ptr();
  product.out = Find("embedding").gradient;
  product.accumulate = accumulate;
  patch_->weight_gradient.Run(product, s);
}

void FusedEngine::BackwardPatches(bool accumulate) {
  const cudaStream_t s = Stream();
  // The output of the forward pass is no longer needed: its gradient takes its
  // place.
  fused::AssembleTokensBackward(
      Floats(stream_gradient_), Half(patch_out_), Find("class_token").gradient,
      Find("registers").gradient, Find("patch_bias").gradient, Floats(partial_),
      batch_, spec_.tokens(), 1 + spec_.registers, spec_.width, accumulate, s);
  fused::ProductBuffers product;
  product.a = patch_out_.data_ptr();
  product.b = patches_.data_ptr();
  product.out = Find("patch").gradient;
  product.accumulate = accumulate;
  patch_->weight_gradient.Run(product, s);
}

at::Tensor FusedEngine::GradientNorm() {
  fused::Norm(Floats(gradients_), gradients_.numel(), Floats(norm_),
              Floats(partial_), Stream());
  return norm_.clone();
}

void FusedEngine::Step() {
  fused::AdamW adam;
  adam.values = Floats(values_);
  adam.gradients = Floats(gradients_);
  adam.first = Floats(first_);
  adam.second = Floats(second_);
  adam.rounded = Half(rounded_);
  adam.decays = static_cast<uint8_t*>(decays_.data_ptr());
  adam.count = values_.numel();
  adam.beta1 = optimizer_.beta1;
  adam.beta2 = optimizer_.beta2;
  adam.epsilon = optimizer_.epsilon;
  adam.weight_decay = optimizer_.weight_decay;
  adam.learning_rate = Floats(learning_rate_);
  adam.steps = Floats(steps_);
  fused::RunAdamW(adam, Stream());
}

void FusedEngine::Tune() {
  const cudaStream_t s = Stream();
  fused::KnownAlgorithms known;
  Block& block = blocks_[0];
  // Power, and with it the clock, depends on the values.
  for (const at::Tensor& t :
       {block.normed, blocks_.back().middle_normed, blocks_.back().activated,
        block.qkv, block.middle_normed, block.activated, branch_gradient_,
        wide_gradient_, qkv_gradient_, patches_, patch_out_, one_hot_,
        class_normed_, logits_gradient_}) {
    if (t.defined()) t.normal_();
  }
  const auto tune = [&](Layer* layer, const at::Tensor& x, const Weight& weight,
                        void* bias, const at::Tensor& out, const at::Tensor& dy,
                        const at::Tensor& dx) {
    fused::ProductBuffers p;
    p.a = x.data_ptr();
    p.b = weight.rounded;
    p.bias = bias;
    p.before = wide_gradient_.data_ptr();
    p.out = out.data_ptr();
    layer->forward.Tune(p, s, &known);
    p = {};
    p.a = dy.data_ptr();
    p.b = x.data_ptr();
    p.out = weight.gradient;
    layer->weight_gradient.Tune(p, s, &known);
    if (!dx.defined()) return;
    p.b = weight.rounded;
    p.out = dx.data_ptr();
    layer->input_gradient.Tune(p, s, &known);
  };
  tune(qkv_.get(), block.normed, block.qkv_w, nullptr, block.qkv, qkv_gradient_,
       normed_gradient_);
  for (const Block* b : {&blocks_.front(), &blocks_.back()}) {
    BlockLayers& layers = *b->layers;
    if (layers.up->forward.seconds() > 0) continue;
    tune(layers.projection.get(), block.normed, b->projection, nullptr,
         b->attention_out, branch_gradient_, attention_gradient_);
    tune(layers.up.get(), b->middle_normed, b->up, b->up_bias.rounded,
         b->hidden, wide_gradient_, normed_gradient_);
    tune(layers.down.get(), b->activated, b->down, b->down_bias.rounded,
         b->mlp_out, branch_gradient_, wide_gradient_);
  }
  tune(head_.get(), class_normed_, Find("head"),
       is_text_ ? nullptr : Find("head_bias").value, logits_, logits_gradient_,
       class_gradient_);
  if (is_text_) {
    fused::ProductBuffers p;
    p.a = one_hot_.data_ptr();
    p.b = branch_gradient_.data_ptr();
    p.out = Find("embedding").gradient;
    patch_->weight_gradient.Tune(p, s, &known);
  } else {
    tune(patch_.get(), patches_, Find("patch"), Find("patch_bias").rounded,
         patch_out_, patch_out_, {});
  }
}

void FusedEngine::SetLearningRate(double rate) { learning_rate_.fill_(rate); }

at::Tensor FusedEngine::ViewOf(const at::Tensor& arena,
                               const Weight& weight) const {
  int64_t count = 1;
  for (const int64_t size : weight.shape) count *= size;
  return arena.narrow(0, weight.offset, count).view(weight.shape);
}

at::Tensor FusedEngine::Gradient(const std::string& name) const {
  return ViewOf(gradients_, Find(name));
}

std::vector<std::pair<std::string, at::Tensor>> FusedEngine::State() const {
  std::vector<std::pair<std::string, at::Tensor>> state;
  for (const std::string& name : names_) {
    state.emplace_back("first." + name, ViewOf(first_, Find(name)));
    state.emplace_back("second." + name, ViewOf(second_, Find(name)));
    // One count serves all parameters.
    state.emplace_back("steps." + name, steps_.squeeze(0));
  }
  return state;
}

std::string FusedEngine::DescribeProducts() const {
  std::string text;
  const auto add = [&text](const char* name, const fused::TunedProduct& p) {
    if (p.seconds() == 0) return;
    char line[128];
    std::snprintf(line, sizeof(line), "%-22s %7.1f us %6.0f TFLOP/s\n", name,
                  p.seconds() * 1e6, p.flops() / p.seconds() * 1e-12);
    text += line;
  };
  const std::pair<const char*, const Layer*> layers[] = {
      {"qkv", qkv_.get()},
      {"projection", blocks_[0].layers->projection.get()},
      {"up", blocks_[0].layers->up.get()},
      {"down", blocks_[0].layers->down.get()},
      {"patch", patch_.get()},
      {"head", head_.get()}};
  for (const auto& layer : layers) {
    const std::string name = layer.first;
    add((name + " forward").c_str(), layer.second->forward);
    add((name + " input grad").c_str(), layer.second->input_gradient);
    add((name + " weight grad").c_str(), layer.second->weight_gradient);
  }
  return text;
}

}  // namespace feedrate
