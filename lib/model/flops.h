// Model shapes, and what follows from them: operations, bytes and parameters
// per part, and the fastest possible training step. Standard library only, like
// everything in the measured process besides libtorch: it is also built on
// machines that have nothing else.
//
// A multiply-add is two operations. Only matrix products count towards totals,
// as is usual in the field; elementwise work is listed separately because it
// moves bytes. The backward pass of a product is two products of the same size;
// an input that needs no gradient saves one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

// The models that `train`, `eval` and `flops` know.

enum class ModelKind {
  // ViT-5: images to classes.
  kVit,
  // A byte-level GPT: text to the next byte.
  kByteLm,
};

// Shape of one model. Everything that determines parameters and operations is
// here, so that the model, its operation count and its checkpoints cannot
// disagree.
struct ModelSpec {
  std::string name;
  ModelKind kind = ModelKind::kVit;
  int64_t layers = 0;
  int64_t width = 0;
  int64_t heads = 0;
  // Width of the MLP relative to `width`.
  int64_t mlp_ratio = 4;

  // kVit: pixels per side of the image and of a patch.
  int64_t image_size = 0;
  int64_t patch_size = 0;
  int64_t channels = 3;
  // Extra tokens besides the class token and the patches.
  int64_t registers = 4;
  int64_t classes = 0;

  // kByteLm: context length in bytes, and number of byte values.
  int64_t context = 0;
  int64_t vocabulary = 256;

  int64_t head_width() const { return width / heads; }
  int64_t mlp_width() const { return width * mlp_ratio; }
  int64_t patches() const;
  // Number of values of a patch.
  int64_t patch_values() const { return channels * patch_size * patch_size; }
  // Tokens per sample.
  int64_t tokens() const;
  // Outputs of the last layer: classes or bytes.
  int64_t outputs() const {
    return kind == ModelKind::kVit ? classes : vocabulary;
  }
};

// All models, small ones last.
const std::vector<ModelSpec>& ModelSpecs();
std::vector<std::string> ModelNames();

// Null if there is no such model.
const ModelSpec* ModelNamed(const std::string& name);

// One part over all layers, for one sample.
struct FlopsPart {
  std::string name;
  // True for matrix products, which totals count; false for elementwise work.
  bool counted = true;
  int64_t parameters = 0;
  int64_t forward_flops = 0;
  // Forward and backward, as three times forward.
  int64_t training_flops = 0;
  // What a training step really multiplies: without gradients of inputs that
  // need none.
  int64_t multiplied_flops = 0;
  // Elements of inputs and outputs of the forward pass, without weights.
  int64_t activations = 0;

  // Operations per byte of the forward pass if `batch` samples share one read
  // of the weights. 0 without bytes.
  double Intensity(int64_t batch, int64_t bytes_per_value) const;
  int64_t ForwardBytes(int64_t batch, int64_t bytes_per_value) const;
};

// Sum of the counted parts; parameters and activations of all parts.
FlopsPart TotalOf(const std::vector<FlopsPart>& parts);

// Patch or byte embedding, QKV and projection, attention, MLP, head, and
// elementwise work.
std::vector<FlopsPart> CountModel(const ModelSpec& spec);

// Parameters of the whole model.
int64_t CountParameters(const ModelSpec& spec);

// Three estimates of the operations of a training step for one sample.

// 6 N D: all parameters times tokens.
double SixNd(const ModelSpec& spec);
// 6 N D plus 12 x layers x width x tokens per token for attention, as if each
// token attended to all others.
double TransformerAware(const ModelSpec& spec);
// Training total of CountModel.
double ExactFlops(const ModelSpec& spec);

struct RooflineInput {
  // Samples per device and step, over all its batches.
  int64_t samples = 0;
  // Number of batches: weights are read once per batch.
  int64_t batches = 1;
  // 2 for bf16, else 4.
  int64_t bytes_per_value = 4;
  // Measured on the device: operations and bytes per second. Above 0.
  double matmul_flops = 0;
  double copy_bytes = 0;
};

struct Roofline {
  double step_s = 0;
  // Bytes that the step must move.
  double bytes = 0;
};

// The fastest possible training step on a device. Each part takes as long as
// its products or its bytes, whichever is longer; the backward pass takes twice
// as long. The optimizer reads weights, gradients and two moments, and writes
// all but the gradients, in float32.
Roofline RooflineOf(const ModelSpec& spec, const RooflineInput& input);

// Dense peak of a GPU, by product name such as `NVIDIA H200`, in operations per
// second; 0 if unknown. `precision` as in `train`.
double PeakOfGpu(const std::string& gpu, const std::string& precision);

}  // namespace feedrate
