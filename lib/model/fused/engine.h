// A ViT's training step written out by hand for one GPU: forward, backward and
// AdamW without autograd, every buffer at a fixed address, so that the whole
// step can be one CUDA graph.
//
// Matrix products run in bf16 with the epilogues of cuBLASLt, attention in
// cuDNN, everything else in the kernels of kernels.h. The residual stream and
// the sums stay fp32.
#ifndef FEEDRATE_LIB_MODEL_FUSED_ENGINE_H_
#define FEEDRATE_LIB_MODEL_FUSED_ENGINE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/flops.h"
#include "lib/model/fused/kernels.h"
#include "lib/model/fused/products.h"
#include "lib/model/torch/model.h"
#include "lib/model/torch/trainer.h"

namespace feedrate {

// Empty when the engine can train this model, else why it cannot.
std::string FusedEngineRefusal(const ModelSpec& spec);

class FusedEngine {
 public:
  // Moves the values of `parameters` into one arena (the tensors stay valid and
  // see every update) and allocates what a step of `batch` samples needs.
  // REQUIRES: FusedEngineRefusal(spec) is empty; parameters are fp32 on the
  // current GPU.
  FusedEngine(const ModelSpec& spec, const std::vector<Parameter>& parameters,
              const OptimizerOptions& optimizer, int64_t batch);
  ~FusedEngine();

  // Forward, loss and backward of one batch. The first micro-batch of a step
  // sets the gradients, later ones are added. `factor` weighs its loss.
  void RunBatch(const at::Tensor& images, const at::Tensor& target, bool first,
                double factor);
  // Norm of the gradients and the optimizer's step.
  void Update();
  // Finds the fastest algorithm of each product. Call once, after RunBatch and
  // before the step is recorded.
  void Tune();

  // One value each, on the device: the step's loss, norm of its gradients.
  const at::Tensor& loss() const { return loss_; }
  const at::Tensor& gradient_norm() const { return norm_; }
  void SetLearningRate(double rate);
  // Gradient of a parameter by its name, as a view.
  at::Tensor Gradient(const std::string& name) const;
  // What the optimizer keeps, named as MomentOptimizer's.
  std::vector<std::pair<std::string, at::Tensor>> OptimizerState() const;
  // Rounds the weights again after somebody wrote to the parameters.
  void WeightsChanged();

  // Lines "name seconds tflops" of each product, for reports.
  std::string DescribeProducts() const;

 private:
  // Where a parameter is: value, gradient and rounded value.
  struct Weight {
    float* value = nullptr;
    float* gradient = nullptr;
    fused::Bf16* rounded = nullptr;
    int64_t offset = 0;
    at::IntArrayRef sizes() const { return shape; }
    std::vector<int64_t> shape;
  };
  struct Block;
  struct Layer;

  void LayOutParameters(const std::vector<Parameter>& parameters);
  void AllocateActivations();
  void MakeProducts();
  const Weight& Find(const std::string& name) const;
  at::Tensor Bf16Buffer(at::IntArrayRef shape) const;
  at::Tensor FloatBuffer(at::IntArrayRef shape) const;
  at::Tensor StreamBuffer(at::IntArrayRef shape) const;

  void Forward(const at::Tensor& images);
  void ForwardBlock(int64_t index);
  void LossAndHead(const at::Tensor& target, double factor, bool accumulate);
  void BackwardBlock(int64_t index, bool accumulate);
  void BackwardPatches(bool accumulate);

  const ModelSpec spec_;
  const OptimizerOptions optimizer_;
  const int64_t batch_;
  // Tokens of the whole batch.
  const int64_t rows_;
  std::map<std::string, Weight> weights_;
  std::vector<std::string> names_;
  at::Tensor values_, gradients_, first_, second_, rounded_, decays_;
  at::Tensor steps_, learning_rate_, loss_, norm_, partial_, workspace_;
  at::Tensor cos_, sin_;
  at::Tensor patches_, patch_out_, stream_gradient_, branch_gradient_;
  at::Tensor wide_gradient_, qkv_gradient_, attention_gradient_;
  at::Tensor normed_gradient_, class_x_, class_normed_, class_rstd_;
  at::Tensor logits_, logits_gradient_, row_loss_, class_gradient_;
  std::vector<Block> blocks_;
  cublasLtHandle_t handle_ = nullptr;
  std::unique_ptr<Layer> qkv_, projection_, up_, down_, patch_, head_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_FUSED_ENGINE_H_
