// The training step of a ViT or a byte language model, written out for one GPU:
// forward, backward and optimizer without autograd, every buffer at a fixed
// address, so that the whole step can be one CUDA graph.
//
// Matrix products run in bf16 with the epilogues of cuBLASLt, attention of text
// on other GPUs than a Hopper in cuDNN (or torch's flash attention, if its
// algorithms shall be deterministic), everything else in our own kernels. The
// residual stream and its gradient have 16 bits per value, sums are fp32. After
// the last attention of a ViT only class tokens are computed: nothing depends
// on the others.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/flops.h"
#include "lib/model/fused/kernels.h"
#include "lib/model/fused/products.h"
#include "lib/model/torch/model.h"
#include "lib/model/torch/trainer.h"

namespace feedrate {

// Empty when the engine can train this model, else why it cannot. `fp8`: with
// products in FP8.
std::string FusedEngineRefusal(const ModelSpec& spec, bool fp8 = false);

class FusedEngine : public StepEngine, public Optimizer {
 public:
  // Moves the values of `parameters` into one arena (the tensors stay valid and
  // see every update), allocates what a step of `batch` samples needs, and
  // finds the fastest algorithm of each product on this device. REQUIRES:
  // FusedEngineRefusal(spec) is empty; parameters are fp32 on the current GPU.
  // `checkpointing`: keeps only the stream before each block, and computes the
  // rest again in the backward pass. `fp8`: products of blocks with all tokens
  // in FP8 where that pays (engine_fp8.cc).
  FusedEngine(const ModelSpec& spec, const std::vector<Parameter>& parameters,
              const OptimizerOptions& optimizer, int64_t batch,
              bool checkpointing, bool fp8 = false);
  ~FusedEngine() override;

  void Forward(const at::Tensor& input) override;
  at::Tensor Loss(const at::Tensor& target, double factor) override;
  void Backward(bool first) override;
  at::Tensor GradientNorm() override;
  void ParametersChanged() override;
  void SendGradients(int64_t bytes,
                     std::function<void(const at::Tensor&)> send) override;
  int64_t TakeClippedValues() override;

  // AdamW or LAMB over all parameters in one launch. Clips by the norm of the
  // last call of GradientNorm.
  void Step() override;
  // Also of a step that a CUDA graph replays.
  void SetLearningRate(double rate) override;
  // Named as those of MakeOptimizer, so that checkpoints fit both.
  std::vector<std::pair<std::string, at::Tensor>> State() const override;

  // Gradient of a parameter by its name, as a view.
  at::Tensor Gradient(const std::string& name) const;
  // A line per product: its time and rate, for reports.
  std::string DescribeProducts() const;
  // What computes the step, with the algorithm of each product, in one line.
  std::string Method() const;

 private:
  // Where a parameter is: value, gradient and rounded value.
  struct Weight {
    float* value = nullptr;
    float* gradient = nullptr;
    fused::Bf16* rounded = nullptr;
    int64_t offset = 0;
    std::vector<int64_t> shape;
  };
  struct Block;
  struct BlockLayers;
  struct Fp8;
  struct Layer;

  // The products of the model by name.
  std::vector<std::pair<std::string, const fused::TunedProduct*>> Products()
      const;
  void LayOutParameters(const std::vector<Parameter>& parameters);
  void AllocateActivations();
  void MakeProducts();
  const Weight& Find(const std::string& name) const;
  at::Tensor ViewOf(const at::Tensor& arena, const Weight& weight) const;
  at::Tensor Bf16Buffer(at::IntArrayRef shape) const;
  at::Tensor FloatBuffer(at::IntArrayRef shape) const;
  // Of the width of the model; see ResidualOf.
  at::Tensor ResidualBuffer(int64_t rows) const;

  void Tune();
  // `again`: from the stream before the block, for the backward pass.
  void ForwardBlock(int64_t index, bool again);
  void ForwardQkv(Block* block);
  void ForwardAttention(Block* block);
  // Frees what the attention of text allocated for the block.
  void ReleaseAttention(Block* block) const;
  void BackwardAttention(Block* block, bool accumulate);
  fused::QkNormRope RopeOf(const Block& block) const;
  // The stream after this block and its norm: of the stream before the block
  // and both branches.
  fused::AddNorm NormAfter(const Block& block) const;
  // The last part of the backward pass of a block.
  void FinishGradients(const Block& block);
  // Gradient of the stream after attention of this block.
  fused::Residual StreamGradient(const Block& block) const;
  void BackwardHead(bool accumulate);
  void BackwardBlock(int64_t index, bool accumulate);
  void EmbedPatches(const at::Tensor& images);
  void BackwardPatches(bool accumulate);
  void BackwardBytes(bool accumulate);

  // Parts in FP8; in engine_fp8.cc.
  bool IsFp8(const Block& block) const;
  void MakeFp8();
  void TuneFp8(fused::KnownAlgorithms* known);
  // Rounds the weights; `anew` by scales of their own.
  void RoundWeightsToFp8(bool anew);
  void UpdateFp8Scales();
  // Calls `launch`, which writes a tensor by its scale. In the first step, for
  // which no scale is known, calls it before to find that.
  void RunFp8(int scale, const std::function<void()>& launch);
  void ForwardQkvFp8(const fused::AddNorm& norm, int64_t index);
  void ForwardMlpFp8(const fused::AddNorm& norm, int64_t index);
  void BackwardMlpFp8(int64_t index, bool accumulate);
  // The gradient of the branch that ended block `index` is in FP8.
  void BackwardNormFp8(const fused::NormBackward& norm, int64_t index);

  const ModelSpec spec_;
  const OptimizerOptions optimizer_;
  const int64_t batch_;
  const bool checkpointing_;
  // Tokens of the whole batch.
  const int64_t rows_;
  const bool is_text_;
  // Tokens that the head looks at: all in a text, the class token in an image.
  const int64_t head_rows_;
  // GELU and its gradient are inside the products of the MLP, and, of texts,
  // norm and rotation inside that of QKV.
  const bool own_products_;
  // Attention of images, or of texts, in kernels for a Hopper.
  const bool hopper_attention_;
  const bool causal_attention_;
  std::unique_ptr<fused::SumList> sums_;
  std::map<std::string, Weight> weights_;
  std::vector<std::string> names_;
  at::Tensor values_, gradients_, first_, second_, rounded_;
  // By chunk of the arena; see fused::OptimizerStep.
  at::Tensor decays_, tensors_, chunk_squares_;
  at::Tensor steps_, learning_rate_, loss_, norm_, partial_, workspace_;
  at::Tensor cos_, sin_;
  at::Tensor input_, one_hot_;
  // Room for two numbers of each row of a head.
  at::Tensor head_numbers_;
  at::Tensor patches_, patch_out_, stream_gradient_, branch_gradient_;
  at::Tensor class_stream_gradient_;
  at::Tensor wide_gradient_, qkv_gradient_, attention_gradient_;
  at::Tensor normed_gradient_, class_normed_, class_rstd_;
  at::Tensor logits_, logits_gradient_, row_loss_, class_gradient_;
  std::vector<Block> blocks_;
  int64_t send_bytes_ = 0;
  std::function<void(const at::Tensor&)> send_;
  cublasLtHandle_t handle_ = nullptr;
  // By the number of rows.
  std::map<int64_t, BlockLayers> block_layers_;
  std::unique_ptr<Layer> qkv_, patch_, head_;
  // Null in bf16.
  std::unique_ptr<Fp8> fp8_;
};

}  // namespace feedrate
