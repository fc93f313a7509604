// The header of a safetensors file: names, types and shapes of tensors, whose
// bytes follow it. The format is that of PyPI's package `safetensors`: the
// length of the header as 8 bytes, little-endian, then JSON, then the tensors
// without gaps.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "lib/model/flops.h"

namespace feedrate {

struct SafetensorsTensor {
  std::string name;
  std::string type;  // As in the file, such as F32 and BF16.
  std::vector<int64_t> shape;
  // Its first byte, counted from the end of the header, and how many it has.
  int64_t begin = 0;
  int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  // In the order of their bytes.
  std::vector<SafetensorsTensor> tensors;
};

// Reads the header of a file of `file_bytes`, up to the first byte of the
// tensors. Returns what is wrong, or "" if nothing is: then the tensors fill
// the rest of the file without gaps, and sizes are those of types and shapes.
std::string ReadSafetensorsHeader(std::istream& in, int64_t file_bytes,
                                  SafetensorsHeader* header);

// The first bytes of a file. Tensors follow each other in their order: `begin`
// and `bytes` are computed from types and shapes. REQUIRES: the types are
// known.
std::string PrintSafetensorsHeader(const SafetensorsHeader& header);

// Names and shapes of the weights of a model, in checkpoints and in the
// safetensors files that other programs read and write.

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
