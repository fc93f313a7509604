#include "lib/model/flops.h"

#include <algorithm>

namespace feedrate {
namespace {

// A product of `rows` x `in` and `in` x `out`, `times` times.
FlopsPart Product(const std::string& name, int64_t times, int64_t rows,
                  int64_t in, int64_t out) {
  FlopsPart part;
  part.name = name;
  part.parameters = times * in * out;
  part.forward_flops = times * 2 * rows * in * out;
  part.training_flops = 3 * part.forward_flops;
  part.multiplied_flops = part.training_flops;
  part.activations = times * rows * (in + out);
  return part;
}

FlopsPart Plus(FlopsPart a, const FlopsPart& b) {
  a.parameters += b.parameters;
  a.forward_flops += b.forward_flops;
  a.training_flops += b.training_flops;
  a.multiplied_flops += b.multiplied_flops;
  a.activations += b.activations;
  return a;
}

// Pixels need no gradient.
FlopsPart PatchEmbedding(const ModelSpec& spec) {
  FlopsPart part = Product("patch_embed", 1, spec.patches(),
                           spec.patch_values(), spec.width);
  part.multiplied_flops = 2 * part.forward_flops;
  part.parameters += spec.width;  // Bias.
  // Class token and registers.
  part.parameters += (1 + spec.registers) * spec.width;
  return part;
}

// A table lookup: bytes, but no product.
FlopsPart ByteEmbedding(const ModelSpec& spec) {
  FlopsPart part;
  part.name = "byte_embed";
  part.parameters = spec.vocabulary * spec.width;
  part.activations = spec.tokens() * spec.width;
  return part;
}

// Scores and weighted sums. In a causal model a token attends to itself and
// earlier tokens.
FlopsPart Attention(const ModelSpec& spec) {
  const int64_t tokens = spec.tokens();
  const int64_t pairs = spec.kind == ModelKind::kByteLm
                            ? tokens * (tokens + 1) / 2
                            : tokens * tokens;
  FlopsPart part;
  part.name = "attention";
  part.forward_flops = spec.layers * 4 * pairs * spec.width;
  part.training_flops = 3 * part.forward_flops;
  part.multiplied_flops = part.training_flops;
  // Queries, keys and values in, one output; scores stay in the processor.
  part.activations = spec.layers * 4 * tokens * spec.width;
  return part;
}

// Norms (4 operations per element), rotation (6), LayerScale with its residual
// (2), GELU (8): rough estimates, and not part of any total.
FlopsPart Elementwise(const ModelSpec& spec) {
  const int64_t values = spec.tokens() * spec.width;
  const int64_t hidden = spec.tokens() * spec.mlp_width();
  FlopsPart part;
  part.name = "elementwise";
  part.counted = false;
  // Two norms and two scales per block, QK-norm over heads, last norm.
  part.parameters =
      spec.layers * (4 * spec.width + 2 * spec.head_width()) + spec.width;
  const int64_t norms = 2 * values + 2 * values;  // Two norms, Q and K.
  part.forward_flops =
      spec.layers * (4 * norms + 6 * 2 * values + 2 * 2 * values + 8 * hidden) +
      4 * values;
  part.training_flops = 3 * part.forward_flops;
  part.multiplied_flops = part.training_flops;
  // Each reads and writes its data; a residual reads twice.
  part.activations =
      spec.layers * (2 * norms + 2 * 2 * values + 3 * 2 * values + 2 * hidden) +
      2 * values;
  return part;
}

FlopsPart Head(const ModelSpec& spec) {
  const int64_t rows = spec.kind == ModelKind::kVit ? 1 : spec.tokens();
  FlopsPart part = Product("head", 1, rows, spec.width, spec.outputs());
  if (spec.kind == ModelKind::kVit) part.parameters += spec.outputs();
  return part;
}

}  // namespace

int64_t FlopsPart::ForwardBytes(int64_t batch, int64_t bytes_per_value) const {
  return bytes_per_value * (parameters + batch * activations);
}

double FlopsPart::Intensity(int64_t batch, int64_t bytes_per_value) const {
  const int64_t bytes = ForwardBytes(batch, bytes_per_value);
  if (bytes == 0) return 0;
  return static_cast<double>(batch) * forward_flops / bytes;
}

FlopsPart TotalOf(const std::vector<FlopsPart>& parts) {
  FlopsPart total;
  total.name = "total";
  for (const FlopsPart& part : parts) {
    if (part.counted) {
      total = Plus(total, part);
    } else {
      total.parameters += part.parameters;
      total.activations += part.activations;
    }
  }
  return total;
}

std::vector<FlopsPart> CountModel(const ModelSpec& spec) {
  const int64_t tokens = spec.tokens();
  FlopsPart projections =
      Plus(Product("qkv_projection", spec.layers, tokens, spec.width,
                   3 * spec.width),
           Product("", spec.layers, tokens, spec.width, spec.width));
  FlopsPart mlp =
      Plus(Product("mlp", spec.layers, tokens, spec.width, spec.mlp_width()),
           Product("", spec.layers, tokens, spec.mlp_width(), spec.width));
  mlp.parameters += spec.layers * (spec.mlp_width() + spec.width);  // Biases.
  return {
      spec.kind == ModelKind::kVit ? PatchEmbedding(spec) : ByteEmbedding(spec),
      projections,
      Attention(spec),
      mlp,
      Head(spec),
      Elementwise(spec)};
}

int64_t CountParameters(const ModelSpec& spec) {
  return TotalOf(CountModel(spec)).parameters;
}

double SixNd(const ModelSpec& spec) {
  return 6.0 * static_cast<double>(CountParameters(spec)) *
         static_cast<double>(spec.tokens());
}

double TransformerAware(const ModelSpec& spec) {
  const double tokens = spec.tokens();
  return SixNd(spec) + 12.0 * spec.layers * spec.width * tokens * tokens;
}

double ExactFlops(const ModelSpec& spec) {
  return TotalOf(CountModel(spec)).training_flops;
}

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

namespace {

// From the data sheets, without sparsity, in TFLOP/s. The first entry whose
// name is part of the product name applies.
struct GpuPeak {
  const char* name;
  double bf16;
  double tf32;
  double fp32;
};
constexpr GpuPeak kGpuPeaks[] = {
    {"B200", 2250, 1125, 75},
    {"GH200 120GB", 989.4, 494.7, 67},
    {"GH200 144G HBM3e", 989.4, 494.7, 67},
    {"GH200 480GB", 989.4, 494.7, 67},
    {"H200", 989.4, 494.7, 67},
    {"H200 NVL", 835, 417.5, 60},
    {"H100 PCIe", 756, 378, 51},
    {"H100 NVL", 835, 417.5, 60},
    {"H100 80GB HBM3", 989.4, 494.7, 67},
    {"A100-PCIE-40GB", 312, 156, 19.5},
    {"A100-SXM4-40GB", 312, 156, 19.5},
    {"A100 80GB PCIe", 312, 156, 19.5},
    {"A100-SXM4-80GB", 312, 156, 19.5},
    {"L40S", 362, 183, 91.6},
    {"L40", 181, 90.5, 90.5},
    {"L4", 121, 60, 30.3},
    {"A10G", 70, 35, 35},
    {"A10", 125, 62.5, 31.2},
    {"GeForce RTX 4090", 165.2, 82.6, 82.6},
    {"T4", 0, 0, 8.1},
};

// The brand before the name, which older drivers leave out or spell otherwise.
std::string WithoutBrand(const std::string& gpu) {
  for (const std::string brand : {"NVIDIA ", "Tesla "}) {
    if (gpu.rfind(brand, 0) == 0) return WithoutBrand(gpu.substr(brand.size()));
  }
  return gpu;
}

// Reads weights, gradients and two moments; writes all but the gradients; and
// accesses the gradients twice more, for their norm and for zeroing them.
constexpr int64_t kOptimizerValues = 4 + 3 + 2;
constexpr int64_t kMasterBytes = 4;

}  // namespace

Roofline RooflineOf(const ModelSpec& spec, const RooflineInput& input) {
  Roofline roofline;
  const int64_t batch = std::max<int64_t>(1, input.samples / input.batches);
  for (const FlopsPart& part : CountModel(spec)) {
    const double flops =
        part.counted ? static_cast<double>(batch) * part.forward_flops : 0;
    const auto bytes =
        static_cast<double>(part.ForwardBytes(batch, input.bytes_per_value));
    const double forward_s =
        std::max(flops / input.matmul_flops, bytes / input.copy_bytes);
    roofline.step_s += 3 * input.batches * forward_s;
    roofline.bytes += 3 * input.batches * bytes;
  }
  const auto update = static_cast<double>(kOptimizerValues * kMasterBytes *
                                          CountParameters(spec));
  roofline.step_s += update / input.copy_bytes;
  roofline.bytes += update;
  return roofline;
}

double PeakOfGpu(const std::string& gpu, const std::string& precision) {
  const std::string name = WithoutBrand(gpu);
  for (const GpuPeak& peak : kGpuPeaks) {
    if (name != peak.name) continue;
    // As fast as each other on all of these.
    if (precision == "bf16" || precision == "fp16") return peak.bf16 * 1e12;
    if (precision == "fp8") return 2 * peak.bf16 * 1e12;
    if (precision == "tf32") return peak.tf32 * 1e12;
    return peak.fp32 * 1e12;
  }
  return 0;
}

}  // namespace feedrate
