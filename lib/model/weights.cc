#include "lib/model/weights.h"

#include <map>

namespace feedrate {
namespace {

constexpr char kBias[] = "_bias";
constexpr size_t kShownBytes = 80;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void AddBlock(const ModelSpec& spec, const std::string& prefix,
              std::vector<WeightShape>* weights) {
  const int64_t width = spec.width;
  const int64_t hidden = spec.mlp_width();
  const std::vector<WeightShape> block = {
      {"attention_norm", {width}},     {"qkv", {3 * width, width}},
      {"q_norm", {spec.head_width()}}, {"k_norm", {spec.head_width()}},
      {"projection", {width, width}},  {"attention_scale", {width}},
      {"mlp_norm", {width}},           {"up", {hidden, width}},
      {"up_bias", {hidden}},           {"down", {width, hidden}},
      {"down_bias", {width}},          {"mlp_scale", {width}},
  };
  for (const WeightShape& weight : block) {
    weights->push_back({prefix + weight.name, weight.shape});
  }
}

// `2x3`.
std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) {
    text += (text.empty() ? "" : "x") + std::to_string(size);
  }
  return text.empty() ? "a single number" : text;
}

}  // namespace

std::vector<WeightShape> WeightsOf(const ModelSpec& spec) {
  const bool is_vit = spec.kind == ModelKind::kVit;
  const int64_t width = spec.width;
  std::vector<WeightShape> weights;
  if (is_vit) {
    weights = {{"patch", {width, spec.patch_values()}},
               {"patch_bias", {width}},
               {"class_token", {1, 1, width}},
               {"registers", {1, spec.registers, width}}};
  } else {
    weights = {{"embedding", {spec.vocabulary, width}}};
  }
  for (int64_t i = 0; i < spec.layers; ++i) {
    AddBlock(spec, "blocks." + std::to_string(i) + ".", &weights);
  }
  weights.push_back({"norm", {width}});
  weights.push_back({"head", {spec.outputs(), width}});
  if (is_vit) weights.push_back({"head_bias", {spec.outputs()}});
  return weights;
}

std::string ModuleNameOf(const std::string& weight) {
  if (weight == "class_token" || weight == "registers" ||
      EndsWith(weight, "_scale")) {
    return weight;
  }
  if (!EndsWith(weight, kBias)) return weight + ".weight";
  return weight.substr(0, weight.size() + 1 - sizeof(kBias)) + ".bias";
}

std::string CheckWeights(const SafetensorsHeader& header,
                         const ModelSpec& spec) {
  std::map<std::string, const SafetensorsTensor*> tensors;
  for (const SafetensorsTensor& tensor : header.tensors) {
    tensors[tensor.name] = &tensor;
  }
  for (const WeightShape& weight : WeightsOf(spec)) {
    const std::string name = ModuleNameOf(weight.name);
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      return "has no " + name + ", which " + spec.name + " needs";
    }
    const SafetensorsTensor& tensor = *found->second;
    if (tensor.shape != weight.shape) {
      return "has " + name + " of shape " + ShapeText(tensor.shape) + "; " +
             spec.name + " needs " + ShapeText(weight.shape);
    }
    if (tensor.type != "F32") {
      return "has " + name + " as " + tensor.type +
             "; save it as F32, such as by tensor.float()";
    }
    tensors.erase(found);
  }
  if (tensors.empty()) return "";
  return "has \"" + tensors.begin()->first.substr(0, kShownBytes) +
         "\", which is no weight of " + spec.name;
}

}  // namespace feedrate
