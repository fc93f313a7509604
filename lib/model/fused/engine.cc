#include "lib/model/fused/engine.h"

#include <ATen/Context.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "lib/model/fused/engine_parts.h"
#include "lib/model/fused/hopper_attention.h"
#include "lib/model/fused/hopper_causal.h"
#include "lib/model/fused/hopper_products.h"

namespace feedrate {

void FusedEngine::Forward(const at::Tensor& input) {
  if (is_text_) {
    if (input.size(0) != batch_ || input.size(1) != spec_.tokens()) {
      throw std::runtime_error("the fused engine trains on whole contexts");
    }
    input_ = input;
    fused::EmbedBytes(input.const_data_ptr<int64_t>(), Find("embedding").value,
                      ResidualOf(blocks_[0].x), rows_, spec_.width, Stream());
  } else {
    const int64_t side = spec_.image_size;
    if (input.sizes() !=
        at::IntArrayRef({batch_, spec_.channels, side, side})) {
      throw std::runtime_error("the fused engine trains on whole batches");
    }
    EmbedPatches(input);
  }
  for (int64_t i = 0; i < spec_.layers; ++i) ForwardBlock(i, /*again=*/false);
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
                        Find("registers").value, ResidualOf(blocks_[0].x),
                        batch_, spec_.tokens(), 1 + spec_.registers,
                        spec_.width, s);
}

void FusedEngine::ForwardBlock(int64_t index, bool again) {
  const cudaStream_t s = Stream();
  Block& block = blocks_[index];
  fused::AddNorm norm;
  if (index > 0 && !again) {
    Block& before = blocks_[index - 1];
    norm = NormAfter(before);
    norm.x_out = ResidualOf(block.x);
    if (checkpointing_) ReleaseAttention(&before);
  } else {
    norm.x = ResidualOf(block.x);
    norm.rows = rows_;
    norm.width = spec_.width;
  }
  norm.weight = block.attention_norm.value;
  norm.normed = Half(block.normed);
  norm.rstd = Floats(block.rstd);
  if (fp8_ != nullptr) {
    ForwardQkvFp8(norm, index);
  } else {
    fused::RunAddNorm(norm, s);
    ForwardQkv(&block);
  }

  ForwardAttention(&block);

  fused::ProductBuffers product;
  product.a = block.mixed.data_ptr();
  product.b = block.projection.rounded;
  product.out = block.attention_out.data_ptr();
  block.layers->projection->forward.Run(product, s);

  // The norm after the block adds both branches, so this sum is not kept.
  norm = NormAfter(block);
  norm.branches[1] = {};
  norm.weight = block.mlp_norm.value;
  norm.normed = Half(block.middle_normed);
  norm.rstd = Floats(block.middle_rstd);
  if (IsFp8(block)) {
    ForwardMlpFp8(norm, index);
    return;
  }
  fused::RunAddNorm(norm, s);

  if (own_products_) {
    fused::UpProduct up;
    up.x = Half(block.middle_normed);
    up.weight = block.up.rounded;
    up.bias = block.up_bias.rounded;
    up.activated = Half(block.activated);
    up.slope = static_cast<uint8_t*>(block.hidden.data_ptr());
    up.rows = block.rows;
    up.width = spec_.width;
    up.hidden = spec_.mlp_width();
    fused::RunUpProduct(up, s);
  } else {
    product = {};
    product.a = block.middle_normed.data_ptr();
    product.b = block.up.rounded;
    product.bias = block.up_bias.rounded;
    product.before = block.hidden.data_ptr();
    product.out = block.activated.data_ptr();
    block.layers->up->forward.Run(product, s);
  }

  product = {};
  product.a = block.activated.data_ptr();
  product.b = block.down.rounded;
  product.bias = block.down_bias.rounded;
  product.out = block.mlp_out.data_ptr();
  block.layers->down->forward.Run(product, s);
}

fused::AddNorm FusedEngine::NormAfter(const Block& block) const {
  fused::AddNorm norm;
  norm.x = ResidualOf(block.x);
  norm.branches[0] = {Half(block.attention_out), block.attention_scale.value};
  norm.branches[1] = {Half(block.mlp_out), block.mlp_scale.value};
  norm.rows = block.rows;
  norm.stride = spec_.tokens() / block.queries;
  norm.width = spec_.width;
  return norm;
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

void FusedEngine::ForwardQkv(Block* block) {
  const cudaStream_t s = Stream();
  if (qkv_->own_forward) {
    fused::QkvProduct own;
    own.x = Half(block->normed);
    own.weight = block->qkv_w.rounded;
    own.rope = RopeOf(*block);
    own.qkv = Half(block->qkv);
    own.rstd = Floats(block->head_rstd);
    fused::RunQkvProduct(own, s);
    return;
  }
  fused::ProductBuffers product;
  product.a = block->normed.data_ptr();
  product.b = block->qkv_w.rounded;
  product.out = block->qkv.data_ptr();
  qkv_->forward.Run(product, s);
  if (is_text_) {
    fused::RunQkNormRope(RopeOf(*block), Half(block->qkv),
                         Floats(block->head_rstd), s);
  }
}

void FusedEngine::ForwardAttention(Block* block) {
  const cudaStream_t s = Stream();
  if (!is_text_) {
    const fused::QkNormRope rope = RopeOf(*block);
    if (hopper_attention_) {
      fused::RunHopperAttention(rope, block->queries, Half(block->qkv),
                                Half(block->mixed), Floats(block->log_sum),
                                Floats(block->head_rstd), s);
    } else {
      fused::RunShortAttention(rope, block->queries, Half(block->mixed),
                               Floats(block->log_sum), s);
    }
    return;
  }
  if (causal_attention_) {
    fused::RunCausalAttention(RopeOf(*block), Half(block->mixed),
                              Floats(block->log_sum), s);
    return;
  }
  const auto keep = [block](const auto& attention) {
    block->mixed = std::get<0>(attention).transpose(1, 2).contiguous();
    block->log_sum = std::get<1>(attention);
    block->random_seed = std::get<6>(attention);
    block->random_offset = std::get<7>(attention);
  };
  const at::Tensor q = block->qkv.select(2, 0).transpose(1, 2);
  const at::Tensor k = block->qkv.select(2, 1).transpose(1, 2);
  const at::Tensor v = block->qkv.select(2, 2).transpose(1, 2);
  // cuDNN's backward pass is faster and adds up in any order.
  if (at::globalContext().deterministicAlgorithms()) {
    keep(at::_scaled_dot_product_flash_attention(q, k, v, /*dropout_p=*/0.0,
                                                 /*is_causal=*/true));
  } else {
    keep(at::_scaled_dot_product_cudnn_attention(
        q, k, v, /*attn_bias=*/{}, /*compute_log_sumexp=*/true,
        /*dropout_p=*/0.0, /*is_causal=*/true));
  }
}

void FusedEngine::ReleaseAttention(Block* block) const {
  if (!is_text_ || causal_attention_) return;
  block->mixed.reset();
  block->log_sum.reset();
}

void FusedEngine::BackwardAttention(Block* block, bool accumulate) {
  const cudaStream_t s = Stream();
  const fused::QkNormRope rope = RopeOf(*block);
  if (hopper_attention_) {
    fused::RunHopperAttentionBackward(
        rope, block->queries,
        {Half(block->mixed), Floats(block->log_sum), Floats(block->head_rstd)},
        Half(attention_gradient_), Half(qkv_gradient_), block->q_norm.gradient,
        block->k_norm.gradient, sums_.get(), accumulate, s);
    return;
  }
  if (!is_text_) {
    fused::RunShortAttentionBackward(
        rope, block->queries, Half(block->mixed), Floats(block->log_sum),
        Half(attention_gradient_), Half(qkv_gradient_), block->q_norm.gradient,
        block->k_norm.gradient, sums_.get(), accumulate, s);
    return;
  }
  if (causal_attention_) {
    fused::RunCausalAttentionBackward(
        rope,
        {Half(block->mixed), Floats(block->log_sum), Floats(block->head_rstd)},
        Half(attention_gradient_), Floats(head_numbers_), Half(qkv_gradient_),
        block->q_norm.gradient, block->k_norm.gradient, sums_.get(), accumulate,
        s);
    return;
  }
  const at::Tensor dmixed = attention_gradient_.transpose(1, 2);
  const at::Tensor q = block->qkv.select(2, 0).transpose(1, 2);
  const at::Tensor k = block->qkv.select(2, 1).transpose(1, 2);
  const at::Tensor v = block->qkv.select(2, 2).transpose(1, 2);
  const at::Tensor mixed = block->mixed.transpose(1, 2);
  const int64_t tokens = spec_.tokens();
  const auto gradients =
      at::globalContext().deterministicAlgorithms()
          ? at::_scaled_dot_product_flash_attention_backward(
                dmixed, q, k, v, mixed, block->log_sum, /*cum_seq_q=*/{},
                /*cum_seq_k=*/{}, tokens, tokens, /*dropout_p=*/0.0,
                /*is_causal=*/true, block->random_seed, block->random_offset)
          : at::_scaled_dot_product_cudnn_attention_backward(
                dmixed, q, k, v, mixed, block->log_sum, block->random_seed,
                block->random_offset, /*attn_bias=*/{}, /*cum_seq_q=*/{},
                /*cum_seq_k=*/{}, tokens, tokens, /*dropout_p=*/0.0,
                /*is_causal=*/true);
  const at::Tensor dq = std::get<0>(gradients).transpose(1, 2).contiguous();
  const at::Tensor dk = std::get<1>(gradients).transpose(1, 2).contiguous();
  const at::Tensor dv = std::get<2>(gradients).transpose(1, 2).contiguous();
  fused::RunQkNormRopeBackward(rope, Floats(block->head_rstd), Half(dq),
                               Half(dk), Half(dv), Half(qkv_gradient_),
                               block->q_norm.gradient, block->k_norm.gradient,
                               sums_.get(), accumulate, s);
}

at::Tensor FusedEngine::Loss(const at::Tensor& target, double factor) {
  const cudaStream_t s = Stream();
  fused::AddNorm norm = NormAfter(blocks_.back());
  norm.weight = Find("norm").value;
  norm.normed = Half(class_normed_);
  norm.rstd = Floats(class_rstd_);
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
  // The arena has the parameters in the order of the forward pass, so what is
  // final is always its end.
  int64_t unsent = gradients_.numel();
  const auto send_from = [&](int64_t begin) {
    if (send_ == nullptr) return;
    const int64_t bytes =
        (unsent - begin) * static_cast<int64_t>(sizeof(float));
    if (bytes < send_bytes_ && begin > 0) return;
    send_(gradients_.narrow(0, begin, unsent - begin));
    unsent = begin;
  };
  BackwardHead(!first);
  for (int64_t i = spec_.layers - 1; i >= 0; --i) {
    BackwardBlock(i, !first);
    if (i > 0) send_from(blocks_[i].offset);
  }
  if (is_text_) {
    BackwardBytes(!first);
  } else {
    BackwardPatches(!first);
  }
  send_from(0);
  if (fp8_ != nullptr) fp8_->calibrated = true;
}

void FusedEngine::SendGradients(int64_t bytes,
                                std::function<void(const at::Tensor&)> send) {
  send_bytes_ = bytes;
  send_ = std::move(send);
}

void FusedEngine::BackwardHead(bool accumulate) {
  const cudaStream_t s = Stream();
  const Block& last = blocks_.back();
  const Weight& head = Find("head");
  fused::ProductBuffers product;
  if (!is_text_) {
    fused::SumRows(Half(logits_gradient_), batch_, spec_.classes, accumulate,
                   Find("head_bias").gradient, sums_.get(), s);
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
  back.normed = Half(class_normed_);
  back.rstd = Floats(class_rstd_);
  back.weight = Find("norm").value;
  back.scale = last.mlp_scale.value;
  back.dx = StreamGradient(last);
  back.dy = Half(branch_gradient_);
  back.dweight = Find("norm").gradient;
  back.dbias = last.down_bias.gradient;
  back.sums = sums_.get();
  back.rows = head_rows_;
  back.width = spec_.width;
  back.accumulate = accumulate;
  fused::RunNormBackward(back, s);
  sums_->Run(s);
}

void FusedEngine::FinishGradients(const Block& block) {
  const auto scale_of = [&](const Weight& matrix, const Weight* bias,
                            const Weight& scale) {
    fused::ScaleGradient a;
    a.weight = matrix.rounded;
    a.dweight = matrix.gradient;
    if (bias != nullptr) {
      a.bias = bias->rounded;
      a.dbias = bias->gradient;
    }
    a.scale = scale.value;
    a.out = scale.gradient;
    a.outputs = matrix.shape[0];
    a.inputs = matrix.shape[1];
    sums_->Add(a);
  };
  scale_of(block.projection, nullptr, block.attention_scale);
  scale_of(block.down, &block.down_bias, block.mlp_scale);
  sums_->Run(Stream());
}

void FusedEngine::BackwardBlock(int64_t index, bool accumulate) {
  const cudaStream_t s = Stream();
  Block& block = blocks_[index];
  if (checkpointing_ && index + 1 < spec_.layers) {
    ForwardBlock(index, /*again=*/true);
  }
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
  if (IsFp8(block)) {
    BackwardMlpFp8(index, accumulate);
  } else if (own_products_) {
    fused::DownGradient down;
    down.dy = Half(branch_gradient_);
    down.weight = block.down.rounded;
    down.slope = static_cast<const uint8_t*>(block.hidden.data_ptr());
    down.gradient = Half(wide_gradient_);
    down.dbias = block.up_bias.gradient;
    down.sums = sums_.get();
    down.rows = block.rows;
    down.width = spec_.width;
    down.hidden = spec_.mlp_width();
    down.accumulate = accumulate;
    fused::RunDownGradient(down, s);
  } else {
    product.a = branch_gradient_.data_ptr();
    product.b = block.down.rounded;
    product.out = wide_gradient_.data_ptr();
    layers.down->input_gradient.Run(product, s);
    fused::GeluBackward(Half(block.hidden), Half(wide_gradient_),
                        is_text_ ? Half(block.activated) : nullptr,
                        block.up_bias.gradient, sums_.get(), block.rows,
                        spec_.mlp_width(), accumulate, s);
  }
  if (!IsFp8(block)) {
    weight_gradient(layers.down.get(), branch_gradient_, block.activated,
                    block.down);
    weight_gradient(layers.up.get(), wide_gradient_, block.middle_normed,
                    block.up);
    product = {};
    product.a = wide_gradient_.data_ptr();
    product.b = block.up.rounded;
    product.out = normed_gradient_.data_ptr();
    layers.up->input_gradient.Run(product, s);
  }

  fused::NormBackward norm;
  norm.dnormed = Half(normed_gradient_);
  norm.normed = Half(block.middle_normed);
  norm.rstd = Floats(block.middle_rstd);
  norm.weight = block.mlp_norm.value;
  norm.dresidual = StreamGradient(block);
  norm.scale = block.attention_scale.value;
  norm.dx = norm.dresidual;
  norm.dy = Half(branch_gradient_);
  norm.dweight = block.mlp_norm.gradient;
  norm.sums = sums_.get();
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

  norm.normed = Half(block.normed);
  norm.rstd = Floats(block.rstd);
  norm.weight = block.attention_norm.value;
  norm.dx = ResidualOf(stream_gradient_);
  norm.dweight = block.attention_norm.gradient;
  norm.rows = rows_;
  norm.stride = spec_.tokens() / block.queries;
  if (index > 0) {
    norm.scale = blocks_[index - 1].mlp_scale.value;
    norm.dbias = blocks_[index - 1].down_bias.gradient;
  } else {
    norm.scale = nullptr;
    // A product takes the gradient of a text, like that of a branch.
    if (is_text_) {
      norm.dx = {};
    } else {
      norm.dy = nullptr;
    }
  }
  if (index > 0 && IsFp8(blocks_[index - 1])) {
    BackwardNormFp8(norm, index - 1);
  } else {
    fused::RunNormBackward(norm, s);
  }
  if (checkpointing_) ReleaseAttention(&block);
  FinishGradients(block);
}

fused::Residual FusedEngine::StreamGradient(const Block& block) const {
  return ResidualOf(block.rows == rows_ ? stream_gradient_
                                        : class_stream_gradient_);
}

void FusedEngine::BackwardBytes(bool accumulate) {
  const cudaStream_t s = Stream();
  fused::OneHot(input_.const_data_ptr<int64_t>(), Half(one_hot_), rows_,
                spec_.vocabulary, s);
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
      ResidualOf(stream_gradient_), Half(patch_out_),
      Find("class_token").gradient, Find("registers").gradient,
      Find("patch_bias").gradient, sums_.get(), batch_, spec_.tokens(),
      1 + spec_.registers, spec_.width, accumulate, s);
  sums_->Run(s);
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
  fused::OptimizerStep step;
  step.values = Floats(values_);
  step.gradients = Floats(gradients_);
  step.first = Floats(first_);
  step.second = Floats(second_);
  step.rounded = Half(rounded_);
  step.decays = static_cast<uint8_t*>(decays_.data_ptr());
  step.count = values_.numel();
  step.beta1 = optimizer_.beta1;
  step.beta2 = optimizer_.beta2;
  step.epsilon = optimizer_.epsilon;
  step.weight_decay = optimizer_.weight_decay;
  step.learning_rate = Floats(learning_rate_);
  step.steps = Floats(steps_);
  step.clip_norm = optimizer_.clip_norm;
  step.norm = Floats(norm_);
  step.tensors = reinterpret_cast<fused::ChunkRange*>(tensors_.data_ptr());
  step.chunk_squares = Floats(chunk_squares_);
  if (optimizer_.name == "lamb") {
    fused::RunLamb(step, Stream());
  } else {
    fused::RunAdamW(step, Stream());
  }
  if (fp8_ != nullptr) {
    UpdateFp8Scales();
    RoundWeightsToFp8(/*anew=*/false);
  }
}

}  // namespace feedrate
