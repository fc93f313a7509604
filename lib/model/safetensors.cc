#include "lib/model/safetensors.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "lib/json/json.h"

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

constexpr int64_t kLengthBytes = 8;
// That of a model of 10,000 tensors has about 1 MB.
constexpr int64_t kMaxHeaderBytes = int64_t{4} << 20;
// More than any file, little enough that products do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 46;
constexpr size_t kMaxDimensions = 8;
constexpr char kMetadata[] = "__metadata__";
constexpr char kOffsets[] = "data_offsets";

// 0 for an unknown type.
int64_t BytesOfType(const std::string& type) {
  static const std::map<std::string, int64_t> bytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
      {"I32", 4},  {"F32", 4}, {"U64", 8}, {"I64", 8},     {"F64", 8},
  };
  const auto found = bytes.find(type);
  return found == bytes.end() ? 0 : found->second;
}

// Text of a file, for a message.
std::string Shown(const std::string& text) {
  return Json(text.substr(0, kShownBytes))
      .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::optional<int64_t> CountIn(const Json& json) {
  if (!json.is_number_unsigned()) return std::nullopt;
  const auto value = json.get<uint64_t>();
  if (value > static_cast<uint64_t>(kMaxBytes)) return std::nullopt;
  return static_cast<int64_t>(value);
}

// Numbers of an array. Null if it is something else.
std::optional<std::vector<int64_t>> CountsIn(const Json* json) {
  if (json == nullptr || !json->is_array()) return std::nullopt;
  std::vector<int64_t> counts;
  for (const Json& element : *json) {
    const std::optional<int64_t> count = CountIn(element);
    if (!count.has_value()) return std::nullopt;
    counts.push_back(*count);
  }
  return counts;
}

// Sets `bytes` from type and shape. False if no file has so many.
bool SetBytes(SafetensorsTensor* tensor) {
  tensor->bytes = BytesOfType(tensor->type);
  bool is_empty = false;
  for (const int64_t size : tensor->shape) {
    is_empty |= size == 0;
    // An empty tensor has strides, which are products of the other sizes.
    if (size > 0 && tensor->bytes > kMaxBytes / size) return false;
    if (size > 0) tensor->bytes *= size;
  }
  if (is_empty) tensor->bytes = 0;
  return true;
}

std::string ReadTensor(const std::string& name, const Json& json,
                       SafetensorsTensor* tensor) {
  tensor->name = name;
  tensor->type = TextOf(json, "dtype");
  if (BytesOfType(tensor->type) == 0) {
    return Shown(name) + " has no known dtype";
  }
  const auto shape = CountsIn(MemberOf(json, "shape"));
  if (!shape.has_value() || shape->size() > kMaxDimensions) {
    return Shown(name) + " has no usable shape";
  }
  tensor->shape = *shape;
  const auto offsets = CountsIn(MemberOf(json, kOffsets));
  if (json.size() != 3 || !offsets.has_value() || offsets->size() != 2) {
    return Shown(name) + " has not dtype, shape and two data_offsets";
  }
  tensor->begin = (*offsets)[0];
  if (!SetBytes(tensor) || (*offsets)[1] - tensor->begin != tensor->bytes) {
    return Shown(name) + " has other data_offsets than its shape needs";
  }
  return "";
}

std::string ReadJson(const Json& json, SafetensorsHeader* header) {
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) {
      if (!value.is_object()) return "its __metadata__ is not an object";
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) return "its __metadata__ has more than texts";
        header->metadata[key] = text.get<std::string>();
      }
      continue;
    }
    SafetensorsTensor tensor;
    const std::string wrong = ReadTensor(name, value, &tensor);
    if (!wrong.empty()) return wrong;
    header->tensors.push_back(std::move(tensor));
  }
  return "";
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
         "\", which is not a weight of " + spec.name;
}

std::string ReadSafetensorsHeader(std::istream& in, int64_t file_bytes,
                                  SafetensorsHeader* header) {
  unsigned char length[kLengthBytes];
  if (file_bytes < kLengthBytes ||
      !in.read(reinterpret_cast<char*>(length), kLengthBytes)) {
    return "is too short for a safetensors file";
  }
  uint64_t bytes = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) bytes = bytes << 8 | length[i];
  if (bytes > static_cast<uint64_t>(kMaxHeaderBytes) ||
      static_cast<int64_t>(bytes) > file_bytes - kLengthBytes) {
    return "is not a safetensors file: its header would not fit into it";
  }
  std::string text(bytes, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(bytes))) {
    return "cannot be read";
  }
  std::string why;
  const std::optional<Json> json = ParseJson(text, &why);
  if (!json.has_value()) return "is not a safetensors file: " + why;
  if (!json->is_object() || text[0] != '{') {
    return "is not a safetensors file: its header is not an object";
  }
  std::string wrong = ReadJson(*json, header);
  if (!wrong.empty()) return wrong;
  std::sort(header->tensors.begin(), header->tensors.end(),
            [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
              return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
            });
  int64_t end = 0;
  for (const SafetensorsTensor& tensor : header->tensors) {
    if (tensor.begin != end) {
      return Shown(tensor.name) + " does not begin where the last one ends";
    }
    end += tensor.bytes;
  }
  const int64_t left = file_bytes - kLengthBytes - static_cast<int64_t>(bytes);
  if (end > left) return "is cut short";
  if (end < left) return "has more bytes than its tensors";
  return "";
}

std::string PrintSafetensorsHeader(const SafetensorsHeader& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  int64_t end = 0;
  for (SafetensorsTensor tensor : header.tensors) {
    SetBytes(&tensor);
    json[tensor.name] = {{"dtype", tensor.type},
                         {"shape", tensor.shape},
                         {kOffsets, {end, end + tensor.bytes}}};
    end += tensor.bytes;
  }
  // Names of classes may be in any encoding.
  std::string text = json.dump(-1, ' ', /*ensure_ascii=*/false,
                               Json::error_handler_t::replace);
  // Tensors begin at a multiple of 8.
  while (text.size() % kLengthBytes != 0) text += ' ';
  std::string first;
  for (int i = 0; i < kLengthBytes; ++i) {
    first += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return first + text;
}

}  // namespace feedrate
