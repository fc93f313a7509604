// The models that `train`, `eval` and `flops` know, as numbers. Standard
// library only, as all that the measured process is made of besides libtorch:
// it is also built on machines that have nothing else.
#ifndef FEEDRATE_LIB_MODEL_MODEL_SPEC_H_
#define FEEDRATE_LIB_MODEL_MODEL_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

enum class ModelKind {
  // ViT-5: images to classes.
  kVit,
  // A GPT of bytes: text to the next byte.
  kByteLm,
};

// Shapes of one model. Everything that decides about parameters and operations
// is here, so that the model, its count and its checkpoints cannot disagree.
struct ModelSpec {
  std::string name;
  ModelKind kind = ModelKind::kVit;
  int64_t layers = 0;
  int64_t width = 0;
  int64_t heads = 0;
  // Width of the MLP over `width`.
  int64_t mlp_ratio = 4;

  // kVit: pixels on a side of the image and of a patch.
  int64_t image_size = 0;
  int64_t patch_size = 0;
  int64_t channels = 3;
  // Tokens of their own besides the class token and the patches.
  int64_t registers = 4;
  int64_t classes = 0;

  // kByteLm: bytes that it sees at once, and of which kinds there are.
  int64_t context = 0;
  int64_t vocabulary = 256;

  int64_t head_width() const { return width / heads; }
  int64_t mlp_width() const { return width * mlp_ratio; }
  int64_t patches() const;
  // Values of one patch.
  int64_t patch_values() const { return channels * patch_size * patch_size; }
  // Tokens of one sample.
  int64_t tokens() const;
  // Outputs of the last layer: classes or bytes.
  int64_t outputs() const {
    return kind == ModelKind::kVit ? classes : vocabulary;
  }
};

// Every model, small ones last.
const std::vector<ModelSpec>& ModelSpecs();
std::vector<std::string> ModelNames();

// Null when there is no such model.
const ModelSpec* ModelNamed(const std::string& name);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_MODEL_SPEC_H_
