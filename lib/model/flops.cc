#include "lib/model/flops.h"

namespace feedrate {
namespace {

// `rows` x `in` times `in` x `out`, `times` over.
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
  part.parameters += spec.width;  // Its bias.
  // Class token and registers.
  part.parameters += (1 + spec.registers) * spec.width;
  return part;
}

// A look-up: bytes, but no product.
FlopsPart ByteEmbedding(const ModelSpec& spec) {
  FlopsPart part;
  part.name = "byte_embed";
  part.parameters = spec.vocabulary * spec.width;
  part.activations = spec.tokens() * spec.width;
  return part;
}

// Scores and weighted sums. In a causal model a token looks at itself and at
// those before it.
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

// Norms (4 operations an element), rotation (6), LayerScale with its residual
// (2), GELU (8): rough by nature, and not part of any total.
FlopsPart Elementwise(const ModelSpec& spec) {
  const int64_t values = spec.tokens() * spec.width;
  const int64_t hidden = spec.tokens() * spec.mlp_width();
  FlopsPart part;
  part.name = "elementwise";
  part.counted = false;
  // Two norms and two scales of each block, QK-norm over heads, last norm.
  part.parameters =
      spec.layers * (4 * spec.width + 2 * spec.head_width()) + spec.width;
  const int64_t norms = 2 * values + 2 * values;  // Two norms, Q and K.
  part.forward_flops =
      spec.layers * (4 * norms + 6 * 2 * values + 2 * 2 * values + 8 * hidden) +
      4 * values;
  part.training_flops = 3 * part.forward_flops;
  part.multiplied_flops = part.training_flops;
  // Each reads and writes what it works on; a residual reads twice.
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
  double parameters = 0;
  for (const FlopsPart& part : CountModel(spec)) {
    if (part.counted && part.forward_flops > 0) parameters += part.parameters;
  }
  return 6 * parameters * spec.tokens();
}

double TransformerAware(const ModelSpec& spec) {
  const double tokens = spec.tokens();
  return SixNd(spec) + 12.0 * spec.layers * spec.width * tokens * tokens;
}

double ExactFlops(const ModelSpec& spec) {
  return TotalOf(CountModel(spec)).training_flops;
}

}  // namespace feedrate
