// Names and shapes of the weights of a model, in checkpoints and in the
// safetensors files that other programs read and write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/flops.h"
#include "lib/model/safetensors.h"

namespace feedrate {

struct WeightShape {
  // Such as `blocks.0.up_bias`.
  std::string name;
  std::vector<int64_t> shape;
};

// All weights, in the order in which a model draws them.
std::vector<WeightShape> WeightsOf(const ModelSpec& spec);

// The name in a safetensors file: that of a torch.nn.Module, such as
// `blocks.0.up.bias`.
std::string ModuleNameOf(const std::string& weight);

// What is wrong with a safetensors file for a model, or "" if nothing is: it
// has exactly the model's weights, as F32.
std::string CheckWeights(const SafetensorsHeader& header,
                         const ModelSpec& spec);

}  // namespace feedrate
