#include "lib/model/worker/script_model.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <memory>

namespace feedrate {

ScriptModel LoadScriptModel(const std::string& path) {
  const auto module =
      std::make_shared<torch::jit::Module>(torch::jit::load(path, at::kCPU));
  module->eval();
  ScriptModel model;
  for (const at::Tensor& parameter : module->parameters()) {
    model.parameters += parameter.numel();
  }
  model.forward = [module](const at::Tensor& bytes) {
    return module->forward({bytes}).toTensor();
  };
  return model;
}

}  // namespace feedrate
