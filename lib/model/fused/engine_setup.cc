// How the fused engine is made: memory, products, and what others ask it for.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "lib/model/fused/engine_parts.h"
#include "lib/model/fused/hopper_attention.h"
#include "lib/model/fused/hopper_causal.h"
#include "lib/model/fused/hopper_products.h"
#include "lib/model/torch/parts.h"

namespace feedrate {

std::string FusedEngineRefusal(const ModelSpec& spec, bool fp8) {
  if (fp8 && (spec.kind != ModelKind::kVit ||
              !fused::HasFp8(spec.width, spec.mlp_width()))) {
    return "FP8 needs a Hopper and a model of images that is 384 or 768 wide";
  }
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
                         const OptimizerOptions& optimizer, int64_t batch,
                         bool checkpointing, bool fp8)
    : spec_(spec),
      optimizer_(optimizer),
      batch_(batch),
      checkpointing_(checkpointing),
      rows_(batch * spec.tokens()),
      is_text_(spec.kind == ModelKind::kByteLm),
      head_rows_(is_text_ ? rows_ : batch),
      own_products_(fused::HasHopperProducts(spec.width, spec.mlp_width())),
      hopper_attention_(!is_text_ && fused::HasHopperAttention()),
      causal_attention_(is_text_ && fused::HasHopperAttention()),
      fp8_(fp8 ? std::make_unique<Fp8>() : nullptr) {
  const std::string refusal = FusedEngineRefusal(spec, fp8);
  if (!refusal.empty()) {
    throw std::runtime_error("the fused engine cannot train " + spec.name +
                             ": " + refusal);
  }
  if (optimizer.name != "adamw" && optimizer.name != "lamb") {
    throw std::runtime_error("the fused engine has no optimizer \"" +
                             optimizer.name + "\"; use adamw or lamb");
  }
  if (cublasLtCreate(&handle_) != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error("cuBLASLt does not start");
  }
  LayOutParameters(parameters);
  AllocateActivations();
  if (fp8_ != nullptr) MakeFp8();
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

at::Tensor FusedEngine::ResidualBuffer(int64_t rows) const {
  return at::empty({rows, 2 * spec_.width + 4},
                   values_.options().dtype(at::kByte));
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
  const int64_t all_chunks = total / fused::kChunk;
  at::Tensor decays = at::zeros({all_chunks}, at::kByte);
  at::Tensor tensors = at::zeros({all_chunks, 2}, at::kInt);
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
    const int64_t chunk = weight.offset / fused::kChunk;
    const int64_t chunks =
        (p.value.numel() + fused::kChunk - 1) / fused::kChunk;
    decays.narrow(0, chunk, chunks).fill_(p.decays);
    tensors.narrow(0, chunk, chunks).select(1, 0).fill_(chunk);
    tensors.narrow(0, chunk, chunks).select(1, 1).fill_(chunk + chunks);
  }
  decays_ = decays.to(options.device());
  tensors_ = tensors.to(options.device());
  chunk_squares_ = at::zeros({all_chunks, 2}, options);
  steps_ = at::zeros({1}, options);
  learning_rate_ = at::full({1}, optimizer_.learning_rate, options);
  loss_ = at::zeros({1}, options);
  norm_ = at::zeros({1}, options);
  ParametersChanged();
}

void FusedEngine::ParametersChanged() {
  fused::RoundToBf16(Floats(values_), Half(rounded_), values_.numel(),
                     Stream());
  if (fp8_ != nullptr && fp8_->weight_count > 0) {
    RoundWeightsToFp8(/*anew=*/true);
  }
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
    if (causal_attention_) {
      head_numbers_ =
          FloatBuffer({batch_, heads, fused::CausalTokens(tokens), 2});
    }
  } else {
    patches_ = Bf16Buffer({batch_ * spec_.patches(), spec_.patch_values()});
    patch_out_ = Bf16Buffer({batch_ * spec_.patches(), width});
  }
  for (int64_t i = 0; i < spec_.layers; ++i) {
    const std::string prefix = "blocks." + std::to_string(i) + ".";
    Block block;
    // With checkpointing, all blocks use the buffers of the first one, and only
    // the stream before each of them is kept.
    if (checkpointing_ && i > 0) block = blocks_[0];
    block.queries = !is_text_ && i + 1 == spec_.layers ? 1 : tokens;
    block.rows = batch_ * block.queries;
    const bool in_fp8 = fp8_ != nullptr && block.rows == rows_;
    block.x = checkpointing_ || i == 0 ? ResidualBuffer(rows_) : blocks_[0].x;
    block.rstd = FloatBuffer({rows_});
    if (!block.normed.defined()) {
      block.normed = Bf16Buffer({rows_, width});
      block.qkv = Bf16Buffer({batch_, tokens, 3, heads, kHeadWidth});
      if (is_text_) block.head_rstd = FloatBuffer({rows_, 2, heads});
      if (hopper_attention_) {
        block.head_rstd = at::zeros({batch_, heads, 2, fused::kShortTokens},
                                    values_.options());
      }
      if (!is_text_) {
        block.log_sum = FloatBuffer({batch_, heads, fused::kShortTokens});
      } else if (causal_attention_) {
        block.log_sum =
            FloatBuffer({batch_, heads, fused::CausalTokens(tokens)});
        block.mixed = Bf16Buffer({rows_, width});
      }
    }
    if (i > 0 && block.rows == rows_) {
      block.attention_out = blocks_[0].attention_out;
      block.mlp_out = blocks_[0].mlp_out;
    } else {
      block.attention_out = Bf16Buffer({block.rows, width});
      block.mlp_out = Bf16Buffer({block.rows, width});
    }
    if (!block.middle_rstd.defined() ||
        block.middle_rstd.size(0) != block.rows) {
      block.middle_normed = Bf16Buffer({block.rows, width});
      block.middle_rstd = FloatBuffer({block.rows});
      if (!is_text_) block.mixed = Bf16Buffer({block.rows, width});
      block.hidden = own_products_ || in_fp8
                         ? at::empty({fused::SlopeBytes(block.rows, hidden)},
                                     values_.options().dtype(at::kByte))
                         : Bf16Buffer({block.rows, hidden});
      // Text needs more memory than images: without slopes, the backward pass
      // computes this again.
      if (is_text_ && !own_products_ && i > 0) {
        block.activated = blocks_[0].activated;
      } else if (!in_fp8) {
        block.activated = Bf16Buffer({block.rows, hidden});
      }
    }
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
    block.offset = block.attention_norm.offset;
    blocks_.push_back(std::move(block));
  }
  stream_gradient_ = ResidualBuffer(rows_);
  class_stream_gradient_ = ResidualBuffer(head_rows_);
  branch_gradient_ = Bf16Buffer({rows_, width});
  normed_gradient_ = Bf16Buffer({rows_, width});
  // In FP8, only the last block has it in bf16.
  wide_gradient_ =
      Bf16Buffer({fp8_ != nullptr ? blocks_.back().rows : rows_, hidden});
  qkv_gradient_ = Bf16Buffer({rows_, 3 * width});
  attention_gradient_ = Bf16Buffer({batch_, tokens, heads, kHeadWidth});
  class_normed_ = Bf16Buffer({head_rows_, width});
  class_rstd_ = FloatBuffer({head_rows_});
  class_gradient_ = Bf16Buffer({head_rows_, width});
  logits_ = FloatBuffer({head_rows_, spec_.outputs()});
  logits_gradient_ = Bf16Buffer({head_rows_, spec_.outputs()});
  row_loss_ = FloatBuffer({head_rows_});
  // A block has two norms, the norms of heads and GELU's bias; its head has one
  // and a bias.
  partial_ = FloatBuffer(
      {2 * fused::PartialFloats(width) + fused::PartialFloats(kHeadWidth) +
       std::max(fused::PartialFloats(256), 128 * spec_.outputs()) +
       fused::HopperPartialFloats(rows_, hidden)});
  sums_ = std::make_unique<fused::SumList>(Floats(partial_), partial_.numel());
  workspace_ = at::empty({static_cast<int64_t>(kWorkspaceBytes)},
                         values_.options().dtype(at::kByte));
}

void FusedEngine::MakeProducts() {
  const int64_t width = spec_.width, hidden = spec_.mlp_width();
  const auto make = [&](Product forward, Product backward, int64_t rows,
                        int64_t inputs, int64_t outputs, bool float_out,
                        Fp8Products fp8 = {}) {
    return std::make_unique<Layer>(handle_, workspace_, forward, backward, rows,
                                   inputs, outputs, float_out, fp8);
  };
  const Product plain = Product::kForward, back = Product::kInputGradient;
  const bool fp8 = fp8_ != nullptr;
  qkv_ = make(plain, back, rows_, width, 3 * width, false,
              {fp8, /*input_gradient=*/false, /*weight_gradient=*/false});
  qkv_->own_forward = is_text_ && own_products_;
  for (Block& block : blocks_) {
    const auto count = block.rows;
    BlockLayers& layers = block_layers_[count];
    if (layers.up == nullptr) {
      layers.projection = make(plain, back, count, width, width, false);
      // FP8 has kernels of ours for the others.
      const bool in_fp8 = fp8 && count == rows_;
      layers.up = make(Product::kForwardGelu, back, count, width, hidden, false,
                       {/*forward=*/false, in_fp8, in_fp8});
      layers.down = make(Product::kForwardBias, back, count, hidden, width,
                         false, {in_fp8, /*input_gradient=*/false, in_fp8});
      layers.up->own_forward = own_products_ || in_fp8;
      layers.down->own_input_gradient = own_products_ || in_fp8;
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
    if (!layer->own_forward && !layer->fp8.forward) {
      layer->forward.Tune(p, s, &known);
    }
    p = {};
    p.a = dy.data_ptr();
    p.b = x.data_ptr();
    p.out = weight.gradient;
    if (!layer->fp8.weight_gradient) layer->weight_gradient.Tune(p, s, &known);
    if (!dx.defined() || layer->own_input_gradient ||
        layer->fp8.input_gradient) {
      return;
    }
    p.b = weight.rounded;
    p.out = dx.data_ptr();
    layer->input_gradient.Tune(p, s, &known);
  };
  if (fp8_ != nullptr) TuneFp8(&known);
  tune(qkv_.get(), block.normed, block.qkv_w, nullptr, block.qkv, qkv_gradient_,
       normed_gradient_);
  for (const Block* b : {&blocks_.front(), &blocks_.back()}) {
    BlockLayers& layers = *b->layers;
    if (layers.projection->weight_gradient.seconds() > 0) continue;
    tune(layers.projection.get(), block.normed, b->projection, nullptr,
         b->attention_out, branch_gradient_, attention_gradient_);
    // With all of it in FP8, there is nothing else to tune.
    if (layers.up->fp8.weight_gradient) continue;
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

std::vector<std::pair<std::string, const fused::TunedProduct*>>
FusedEngine::Products() const {
  const std::pair<const char*, const Layer*> layers[] = {
      {"qkv", qkv_.get()},
      {"projection", blocks_[0].layers->projection.get()},
      {"up", blocks_[0].layers->up.get()},
      {"down", blocks_[0].layers->down.get()},
      {"patch", patch_.get()},
      {"head", head_.get()}};
  std::vector<std::pair<std::string, const fused::TunedProduct*>> products;
  for (const auto& layer : layers) {
    const std::string name = layer.first;
    const auto add = [&](const char* part, const fused::TunedProduct& product) {
      if (product.seconds() > 0) products.push_back({name + part, &product});
    };
    if (layer.second == nullptr) continue;
    add(" forward", layer.second->forward);
    add(" input grad", layer.second->input_gradient);
    add(" weight grad", layer.second->weight_gradient);
  }
  return products;
}

std::string FusedEngine::DescribeProducts() const {
  std::string text;
  for (const auto& named : Products()) {
    const fused::TunedProduct& p = *named.second;
    char line[128];
    std::snprintf(line, sizeof(line), "%-22s %7.1f us %6.0f TFLOP/s\n",
                  named.first.c_str(), p.seconds() * 1e6,
                  p.flops() / p.seconds() * 1e-12);
    text += line;
  }
  return text;
}

std::string FusedEngine::Method() const {
  std::string text =
      std::string("attention by ") +
      (hopper_attention_ || causal_attention_ ? "kernels of feedrate with wgmma"
       : !is_text_                            ? "kernels of feedrate"
       : at::globalContext().deterministicAlgorithms()
           ? "torch's flash attention"
           : "cuDNN") +
      (own_products_ ? is_text_ ? "; norms of heads and GELU in products of "
                                  "feedrate"
                                : "; GELU in products of feedrate"
                     : "") +
      (fp8_ != nullptr ? "; in FP8 (E4M3, gradients E5M2) QKV forward, and "
                         "all products of MLPs but the last block's"
                       : "") +
      "; " + optimizer_.name + " in one launch; cuBLASLt " +
      std::to_string(cublasLtGetVersion()) + ", algorithms";
  const char* separator = " ";
  for (const auto& named : Products()) {
    text += separator + named.first + " " + named.second->AlgorithmName();
    separator = ", ";
  }
  return text;
}

}  // namespace feedrate
