// Initial weights, the same on every device.
#ifndef FEEDRATE_LIB_MODEL_TORCH_WEIGHTS_H_
#define FEEDRATE_LIB_MODEL_TORCH_WEIGHTS_H_

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/torch/model.h"

namespace feedrate {

// Draws on the CPU from one seed, in the order of the calls, moves to the
// device, and lists what it made.
class WeightMaker {
 public:
  // `parameters` outlives it.
  WeightMaker(const ModelOptions& options, std::vector<Parameter>* parameters);

  // Normal numbers cut at two deviations.
  at::Tensor Normal(const std::string& name, at::IntArrayRef shape,
                    double deviation);
  at::Tensor Constant(const std::string& name, at::IntArrayRef shape,
                      double value);

 private:
  at::Tensor Add(const std::string& name, const at::Tensor& value);

  const at::Device device_;
  at::Generator generator_;
  std::vector<Parameter>* const parameters_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_WEIGHTS_H_
