#include "lib/model/model_spec.h"

namespace feedrate {
namespace {

ModelSpec Vit(const std::string& name, int64_t layers, int64_t width,
              int64_t heads) {
  ModelSpec spec;
  spec.name = name;
  spec.kind = ModelKind::kVit;
  spec.layers = layers;
  spec.width = width;
  spec.heads = heads;
  spec.image_size = 224;
  spec.patch_size = 16;
  spec.classes = 1000;
  return spec;
}

// Small enough that a step takes milliseconds on one core.
ModelSpec TinyVit() {
  ModelSpec spec = Vit("vit5_tiny", 4, 64, 2);
  spec.image_size = 32;
  spec.patch_size = 4;
  spec.classes = 10;
  return spec;
}

ModelSpec ByteLm(const std::string& name, int64_t layers, int64_t width,
                 int64_t heads, int64_t context) {
  ModelSpec spec;
  spec.name = name;
  spec.kind = ModelKind::kByteLm;
  spec.layers = layers;
  spec.width = width;
  spec.heads = heads;
  spec.context = context;
  return spec;
}

}  // namespace

int64_t ModelSpec::patches() const {
  if (kind != ModelKind::kVit) return 0;
  const int64_t side = image_size / patch_size;
  return side * side;
}

int64_t ModelSpec::tokens() const {
  return kind == ModelKind::kVit ? patches() + 1 + registers : context;
}

const std::vector<ModelSpec>& ModelSpecs() {
  static const auto* const specs = new std::vector<ModelSpec>{
      Vit("vit5_base", 12, 768, 12),
      Vit("vit5_small", 12, 384, 6),
      ByteLm("byte_lm_small", 12, 512, 8, 1024),
      TinyVit(),
      ByteLm("byte_lm_tiny", 4, 128, 4, 256),
  };
  return *specs;
}

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : ModelSpecs()) names.push_back(spec.name);
  return names;
}

const ModelSpec* ModelNamed(const std::string& name) {
  for (const ModelSpec& spec : ModelSpecs()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

}  // namespace feedrate
