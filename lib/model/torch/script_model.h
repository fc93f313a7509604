// A classifier of images in a TorchScript file.
#pragma once

#include <memory>
#include <string>

#include "lib/model/torch/model.h"

namespace feedrate {

// Loads a file that torch.jit.save wrote. Its forward takes images, batch x
// channels x side x side, and returns batch x classes. The shape of an image is
// the text "3,224,224", or that of the file's extra file `input_shape`. The
// spec of the model has the file's name and the sizes of images and outputs.
// std::runtime_error says in one line what is wrong and what would be right.
std::unique_ptr<Model> LoadScriptModel(const std::string& file,
                                       at::Device device);

}  // namespace feedrate
