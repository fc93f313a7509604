#include "lib/model/torch/weights.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace feedrate {

WeightMaker::WeightMaker(const ModelOptions& options,
                         std::vector<Parameter>* parameters)
    : device_(options.device),
      generator_(at::detail::createCPUGenerator(options.seed)),
      parameters_(parameters) {}

at::Tensor WeightMaker::Normal(const std::string& name, at::IntArrayRef shape,
                               double deviation) {
  const at::Tensor value = at::empty(shape, at::kFloat);
  value.normal_(0, deviation, generator_).clamp_(-2 * deviation, 2 * deviation);
  return Add(name, value);
}

at::Tensor WeightMaker::Constant(const std::string& name, at::IntArrayRef shape,
                                 double number) {
  return Add(name, at::full(shape, number, at::kFloat));
}

at::Tensor WeightMaker::Add(const std::string& name, const at::Tensor& value) {
  Parameter parameter;
  parameter.name = name;
  parameter.value = value.to(device_).set_requires_grad(true);
  parameter.decays = value.dim() >= 2;
  parameters_->push_back(parameter);
  return parameter.value;
}

}  // namespace feedrate
