// The parts of a step in FP8: QKV's forward product, and the six products of
// the MLP, in blocks that compute all tokens. Weight gradients of QKV and its
// input gradient stay in bf16, because attention's kernels write that, and so
// does the projection, which memory limits.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>

#include "lib/model/fused/engine_parts.h"

namespace feedrate {

bool FusedEngine::IsFp8(const Block& block) const {
  return fp8_ != nullptr && block.rows == rows_;
}

void FusedEngine::MakeFp8() {
  const int64_t width = spec_.width, hidden = spec_.mlp_width();
  const auto options = values_.options().dtype(at::kByte);
  const auto both = [&](int64_t rows, int64_t columns, bool transposed) {
    Fp8::Tensor tensor;
    tensor.rows = at::empty({rows, columns}, options);
    // What is beyond the rows stays zero.
    if (transposed) {
      tensor.columns =
          at::zeros({columns, fused::Fp8PaddedRows(rows)}, options);
    }
    return tensor;
  };
  const int64_t scales = spec_.layers * Fp8::kScales;
  std::vector<fused::Fp8Scale> first(scales);
  std::vector<fused::Fp8Weight> weights;
  const auto to_device = [&](const void* from, int64_t bytes) {
    return at::from_blob(const_cast<void*>(from), {bytes}, at::kByte)
        .to(values_.device());
  };
  for (int64_t i = 0; i < scales; ++i) {
    const int part = i % Fp8::kScales;
    const bool gradient =
        part == Fp8::kBranchGradient || part == Fp8::kWideGradient;
    first[i].limit = gradient ? fused::kE5m2Limit : fused::kE4m3Limit;
  }
  fp8_->scales = to_device(first.data(), scales * sizeof(fused::Fp8Scale));
  fp8_->history = at::zeros({scales, fused::kFp8History}, values_.options());
  fp8_->step = at::zeros({1}, options.dtype(at::kLong));
  for (int64_t i = 0; i < spec_.layers; ++i) {
    const bool all = IsFp8(blocks_[i]);
    Fp8::Block block;
    // Shared as the buffers in bf16 are.
    if (checkpointing_ && i > 0) {
      block = fp8_->blocks[0];
    } else {
      block.normed = both(rows_, width, false);
      if (all) {
        block.middle_normed = both(rows_, width, true);
        block.activated = both(rows_, hidden, true);
      }
    }
    block.qkv = both(3 * width, width, false);
    const auto add = [&](const Weight& weight, const Fp8::Tensor& tensor,
                         Fp8::Scale scale, int64_t outputs, int64_t inputs) {
      fused::Fp8Weight to;
      to.values = weight.value;
      to.out = fp8_->Out(tensor, Fp8::Number(i, scale));
      to.outputs = outputs;
      to.inputs = inputs;
      // What our own products read.
      to.lane_rows = scale == Fp8::kUpWeight;
      to.lane_columns = scale == Fp8::kDownWeight;
      weights.push_back(to);
      fp8_->weight_tiles =
          std::max(fp8_->weight_tiles, outputs / 64 * (inputs / 64));
    };
    add(blocks_[i].qkv_w, block.qkv, Fp8::kQkvWeight, 3 * width, width);
    if (all) {
      block.up = both(hidden, width, true);
      block.down = both(width, hidden, true);
      add(blocks_[i].up, block.up, Fp8::kUpWeight, hidden, width);
      add(blocks_[i].down, block.down, Fp8::kDownWeight, width, hidden);
    }
    fp8_->blocks.push_back(block);
  }
  fp8_->branch_gradient = both(rows_, width, true);
  fp8_->wide_gradient = both(rows_, hidden, true);
  fp8_->weight_count = weights.size();
  fp8_->weights =
      to_device(weights.data(), weights.size() * sizeof(fused::Fp8Weight));
  RoundWeightsToFp8(/*anew=*/true);
}

void FusedEngine::RoundWeightsToFp8(bool anew) {
  const auto round = [&] {
    fused::RunFp8Weights(
        reinterpret_cast<const fused::Fp8Weight*>(fp8_->weights.data_ptr()),
        fp8_->weight_count, fp8_->weight_tiles, Stream());
  };
  if (anew) {
    round();
    for (int64_t i = 0; i < spec_.layers; ++i) {
      for (const Fp8::Scale scale :
           {Fp8::kQkvWeight, Fp8::kUpWeight, Fp8::kDownWeight}) {
        fused::UpdateFp8Scales(fp8_->ScaleAt(0), Floats(fp8_->history),
                               fp8_->step.data_ptr<int64_t>(),
                               Fp8::Number(i, scale), 1, /*anew=*/true,
                               Stream());
      }
    }
  }
  round();
}

void FusedEngine::UpdateFp8Scales() {
  fused::UpdateFp8Scales(fp8_->ScaleAt(0), Floats(fp8_->history),
                         fp8_->step.data_ptr<int64_t>(), 0,
                         spec_.layers * Fp8::kScales, /*anew=*/false, Stream());
}

int64_t FusedEngine::TakeClippedValues() {
  if (fp8_ == nullptr) return 0;
  const at::Tensor scales = fp8_->scales.cpu();
  auto* const each = reinterpret_cast<fused::Fp8Scale*>(scales.data_ptr());
  int64_t clipped = 0;
  for (int64_t i = 0; i < spec_.layers * Fp8::kScales; ++i) {
    clipped += each[i].clipped;
    each[i].clipped = 0;
  }
  fp8_->scales.copy_(scales);
  return clipped;
}

void FusedEngine::RunFp8(int scale, const std::function<void()>& launch) {
  if (!fp8_->calibrated) {
    // Norms change the stream and its gradient in place.
    const at::Tensor stream = blocks_[0].x.clone();
    const at::Tensor gradient = stream_gradient_.clone();
    const fused::SumList sums = *sums_;
    launch();
    blocks_[0].x.copy_(stream);
    stream_gradient_.copy_(gradient);
    *sums_ = sums;
    fused::UpdateFp8Scales(fp8_->ScaleAt(0), Floats(fp8_->history),
                           fp8_->step.data_ptr<int64_t>(), scale, 1,
                           /*anew=*/true, Stream());
  }
  launch();
}

void FusedEngine::ForwardQkvFp8(const fused::AddNorm& norm, int64_t index) {
  const Fp8::Block& block = fp8_->blocks[index];
  const int normed = Fp8::Number(index, Fp8::kNormed);
  RunFp8(normed, [&] {
    fused::RunAddNormFp8(norm, fp8_->Out(block.normed, normed), Stream());
  });
  fused::ProductBuffers product;
  product.a = block.normed.rows.data_ptr();
  product.a_scale = &fp8_->ScaleAt(normed)->inverse;
  product.b = block.qkv.rows.data_ptr();
  product.b_scale =
      &fp8_->ScaleAt(Fp8::Number(index, Fp8::kQkvWeight))->inverse;
  product.out = blocks_[index].qkv.data_ptr();
  qkv_->forward.Run(product, Stream());
}

void FusedEngine::ForwardMlpFp8(const fused::AddNorm& norm, int64_t index) {
  const Fp8::Block& in = fp8_->blocks[index];
  const Block& block = blocks_[index];
  const int normed = Fp8::Number(index, Fp8::kMiddleNormed);
  const int activated = Fp8::Number(index, Fp8::kActivated);
  RunFp8(normed, [&] {
    fused::RunAddNormFp8(norm, fp8_->Out(in.middle_normed, normed), Stream());
  });
  fused::UpProductFp8 up;
  up.x = {Fp8::Bytes(in.middle_normed.rows), fp8_->ScaleAt(normed)};
  up.weight = {Fp8::Bytes(in.up.rows),
               fp8_->ScaleAt(Fp8::Number(index, Fp8::kUpWeight))};
  up.bias = block.up_bias.rounded;
  up.activated = fp8_->Out(in.activated, activated);
  up.slope = static_cast<uint8_t*>(block.hidden.data_ptr());
  up.rows = block.rows;
  up.width = spec_.width;
  up.hidden = spec_.mlp_width();
  RunFp8(activated, [&] { fused::RunUpProductFp8(up, Stream()); });

  fused::ProductBuffers product;
  product.a = in.activated.rows.data_ptr();
  product.a_scale = &fp8_->ScaleAt(activated)->inverse;
  product.b = in.down.rows.data_ptr();
  product.b_scale =
      &fp8_->ScaleAt(Fp8::Number(index, Fp8::kDownWeight))->inverse;
  product.bias = block.down_bias.rounded;
  product.out = block.mlp_out.data_ptr();
  block.layers->down->forward.Run(product, Stream());
}

void FusedEngine::BackwardMlpFp8(int64_t index, bool accumulate) {
  const Fp8::Block& in = fp8_->blocks[index];
  const Block& block = blocks_[index];
  const fused::Fp8Scale* const branch =
      fp8_->ScaleAt(Fp8::Number(index, Fp8::kBranchGradient));
  const int wide = Fp8::Number(index, Fp8::kWideGradient);
  fused::DownGradientFp8 down;
  down.dy = {Fp8::Bytes(fp8_->branch_gradient.rows), branch};
  down.weight = {Fp8::Bytes(in.down.columns),
                 fp8_->ScaleAt(Fp8::Number(index, Fp8::kDownWeight))};
  down.slope = static_cast<const uint8_t*>(block.hidden.data_ptr());
  down.gradient = fp8_->Out(fp8_->wide_gradient, wide);
  down.dbias = block.up_bias.gradient;
  down.sums = sums_.get();
  down.rows = block.rows;
  down.width = spec_.width;
  down.hidden = spec_.mlp_width();
  down.accumulate = accumulate;
  RunFp8(wide, [&] { fused::RunDownGradientFp8(down, Stream()); });

  const auto weight_gradient =
      [&](Layer* layer, const Fp8::Tensor& dy, const fused::Fp8Scale* dy_scale,
          const Fp8::Tensor& x, Fp8::Scale x_scale, const Weight& weight) {
        fused::ProductBuffers p;
        p.a = dy.columns.data_ptr();
        p.a_scale = &dy_scale->inverse;
        p.b = x.columns.data_ptr();
        p.b_scale = &fp8_->ScaleAt(Fp8::Number(index, x_scale))->inverse;
        p.out = weight.gradient;
        p.accumulate = accumulate;
        layer->weight_gradient.Run(p, Stream());
      };
  weight_gradient(block.layers->down.get(), fp8_->branch_gradient, branch,
                  in.activated, Fp8::kActivated, block.down);
  weight_gradient(block.layers->up.get(), fp8_->wide_gradient,
                  fp8_->ScaleAt(wide), in.middle_normed, Fp8::kMiddleNormed,
                  block.up);
  fused::ProductBuffers product;
  product.a = fp8_->wide_gradient.rows.data_ptr();
  product.a_scale = &fp8_->ScaleAt(wide)->inverse;
  product.b = in.up.columns.data_ptr();
  product.b_scale = &fp8_->ScaleAt(Fp8::Number(index, Fp8::kUpWeight))->inverse;
  product.out = normed_gradient_.data_ptr();
  block.layers->up->input_gradient.Run(product, Stream());
}

void FusedEngine::BackwardNormFp8(const fused::NormBackward& norm,
                                  int64_t index) {
  const int scale = Fp8::Number(index, Fp8::kBranchGradient);
  RunFp8(scale, [&] {
    fused::RunNormBackwardFp8(norm, fp8_->Out(fp8_->branch_gradient, scale),
                              Stream());
  });
}

void FusedEngine::TuneFp8(fused::KnownAlgorithms* known) {
  Fp8::Block& block = fp8_->blocks[0];
  // Numbers of any size but none that is not one.
  for (const Fp8::Tensor* t :
       {&block.normed, &block.middle_normed, &block.activated,
        &fp8_->branch_gradient, &fp8_->wide_gradient}) {
    t->rows.random_(0x20, 0x60);
    if (t->columns.defined()) t->columns.random_(0x20, 0x60);
  }
  BlockLayers& layers = *blocks_[0].layers;
  const auto tune = [&](fused::TunedProduct* product, const at::Tensor& a,
                        const at::Tensor& b, void* out, void* bias) {
    fused::ProductBuffers p;
    p.a = a.data_ptr();
    p.b = b.data_ptr();
    p.a_scale = p.b_scale = &fp8_->ScaleAt(0)->inverse;
    p.bias = bias;
    p.out = out;
    product->Tune(p, Stream(), known);
  };
  tune(&qkv_->forward, block.normed.rows, block.qkv.rows,
       blocks_[0].qkv.data_ptr(), nullptr);
  tune(&layers.down->forward, block.activated.rows, block.down.rows,
       blocks_[0].mlp_out.data_ptr(), blocks_[0].down_bias.rounded);
  tune(&layers.down->weight_gradient, fp8_->branch_gradient.columns,
       block.activated.columns, blocks_[0].down.gradient, nullptr);
  tune(&layers.up->weight_gradient, fp8_->wide_gradient.columns,
       block.middle_normed.columns, blocks_[0].up.gradient, nullptr);
  tune(&layers.up->input_gradient, fp8_->wide_gradient.rows, block.up.columns,
       normed_gradient_.data_ptr(), nullptr);
  // What is beyond the rows is zero again.
  for (const Fp8::Tensor* t : {&block.middle_normed, &block.activated,
                               &fp8_->branch_gradient, &fp8_->wide_gradient}) {
    t->columns.zero_();
  }
}

}  // namespace feedrate
