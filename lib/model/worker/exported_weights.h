// Weights in safetensors files, for other programs.
#pragma once

#include <map>
#include <string>

#include "lib/model/flops.h"
#include "lib/model/torch/checkpoint.h"
#include "lib/model/torch/model.h"

namespace feedrate {

// Writes `weights`, named as in WeightsOf, under the names of ModuleNameOf. The
// file is there whole or not at all, and an older one is never written to.
// `about` is added to what its metadata say of the model. std::runtime_error
// with the path on failure.
void ExportWeights(const std::string& path, const ModelSpec& spec,
                   const NamedTensors& weights,
                   const std::map<std::string, std::string>& about);

// Copies the weights of a file into the model. std::runtime_error with the path
// and what is wrong.
void ImportWeights(const std::string& path, const Model& model);

}  // namespace feedrate
