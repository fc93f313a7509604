#include "lib/model/torch/script_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdio>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace feedrate {
namespace {

constexpr char kShapeFile[] = "input_shape";
constexpr char kDefaultShape[] = "3,224,224";

// What a forward pass needs to know.
ModelSpec SpecOf(const std::string& file, std::string shape) {
  if (shape.empty()) shape = kDefaultShape;
  ModelSpec spec;
  spec.name = file;
  spec.kind = ModelKind::kVit;
  long long channels = 0, height = 0, width = 0;
  char more = 0;
  if (std::sscanf(shape.c_str(), "%5lld,%5lld,%5lld%c", &channels, &height,
                  &width, &more) != 3 ||
      channels < 1 || height < 1 || width != height) {
    throw std::runtime_error(file + ": input_shape is \"" + shape +
                             "\"; write channels and equal sides, such as " +
                             kDefaultShape);
  }
  spec.channels = channels;
  spec.image_size = height;
  return spec;
}

class ScriptModel : public Model {
 public:
  ScriptModel(const ModelSpec& spec, const ModelOptions& options,
              torch::jit::Module module)
      : Model(spec, options), module_(std::move(module)) {
    for (const auto& named : module_.named_parameters()) {
      if (!named.value.requires_grad()) continue;
      parameters_.push_back({named.name, named.value, named.value.dim() > 1});
    }
  }

  at::Tensor Forward(const at::Tensor& input,
                     const at::Tensor& kept) const override {
    TORCH_CHECK(!kept.defined(), "a TorchScript file has no stochastic depth");
    // Running a module changes its buffers, not this object.
    return module_.forward({input}).toTensor();
  }

 private:
  mutable torch::jit::Module module_;
};

// Number of outputs for an image.
int64_t CountClasses(const ModelSpec& spec, at::Device device,
                     torch::jit::Module* module) {
  const at::AutoGradMode no_grad(false);
  module->eval();
  try {
    const at::Tensor images =
        at::zeros({2, spec.channels, spec.image_size, spec.image_size}, device);
    const at::Tensor output = module->forward({images}).toTensor();
    module->train();
    if (output.dim() == 2 && output.size(0) == 2) return output.size(1);
  } catch (const std::exception&) {
    // The message below says more than many lines of the interpreter.
  }
  const std::string side = std::to_string(spec.image_size);
  throw std::runtime_error(
      spec.name + ": forward does not make classes of images of " +
      std::to_string(spec.channels) + " x " + side + " x " + side +
      "; if they have another shape, add "
      "_extra_files={\"input_shape\": \"3,96,96\"} to torch.jit.save");
}

}  // namespace

std::unique_ptr<Model> LoadScriptModel(const std::string& file,
                                       at::Device device) {
  std::unordered_map<std::string, std::string> extra = {{kShapeFile, ""}};
  torch::jit::Module module;
  try {
    module = torch::jit::load(file, device, extra);
  } catch (const std::exception&) {
    throw std::runtime_error(file +
                             ": is no TorchScript file; write one with "
                             "torch.jit.save(torch.jit.script(model), FILE)");
  }
  ModelSpec spec = SpecOf(file, extra[kShapeFile]);
  spec.classes = CountClasses(spec, device, &module);
  ModelOptions options;
  options.device = device;
  auto model = std::make_unique<ScriptModel>(spec, options, std::move(module));
  if (model->parameters().empty()) {
    throw std::runtime_error(file + ": has no parameters to train");
  }
  return model;
}

}  // namespace feedrate
