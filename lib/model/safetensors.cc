#include "lib/model/safetensors.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "lib/json/json.h"

namespace feedrate {
namespace {

constexpr int64_t kLengthBytes = 8;
// That of a model of 10,000 tensors has about 1 MB.
constexpr int64_t kMaxHeaderBytes = int64_t{4} << 20;
// More than any file, little enough that products do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 46;
constexpr size_t kMaxDimensions = 8;
constexpr char kMetadata[] = "__metadata__";
constexpr char kOffsets[] = "data_offsets";
constexpr size_t kShownBytes = 80;

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
      if (!value.is_object()) return "its __metadata__ is no object";
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
    return "is no safetensors file: its header would not fit into it";
  }
  std::string text(bytes, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(bytes))) {
    return "cannot be read";
  }
  std::string why;
  const std::optional<Json> json = ParseJson(text, &why);
  if (!json.has_value()) return "is no safetensors file: " + why;
  if (!json->is_object() || text[0] != '{') {
    return "is no safetensors file: its header is no object";
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
