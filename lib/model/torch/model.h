// ViT-5 and the byte-level language model on libtorch.
//
// Errors are libtorch's exceptions. Callers catch them once, in main.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/flops.h"
#include "lib/model/torch/parts.h"

namespace feedrate {

// A tensor to train. `decays`: weight decay applies to it (matrices).
struct Parameter {
  std::string name;
  at::Tensor value;
  bool decays = false;
};

struct ModelOptions {
  at::Device device = at::kCPU;
  // Seed of the initial weights, which are the same on every device.
  uint64_t seed = 0;
  // Recomputes the activations of each block in the backward pass instead of
  // keeping them.
  bool activation_checkpointing = false;
  const Parts* parts = nullptr;  // Null: EagerParts.
};

class Model {
 public:
  virtual ~Model() = default;

  // kVit: images, batch x channels x side x side of float32, to batch x
  // classes. kByteLm: bytes, batch x length (at most `context`) of int64, to
  // batch x length x vocabulary. `kept` is of KeptBranches, or undefined.
  virtual at::Tensor Forward(const at::Tensor& input,
                             const at::Tensor& kept) const = 0;
  at::Tensor Forward(const at::Tensor& input) const {
    return Forward(input, at::Tensor());
  }

  // The order depends only on the spec.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const ModelSpec& spec() const { return spec_; }
  const Parts& parts() const { return *parts_; }

 protected:
  Model(const ModelSpec& spec, const ModelOptions& options);

  const ModelSpec spec_;
  const Parts* const parts_;
  std::vector<Parameter> parameters_;
};

std::unique_ptr<Model> MakeModel(const ModelSpec& spec,
                                 const ModelOptions& options);

}  // namespace feedrate
