// Operations, bytes and parameters of a model, part by part, from its shapes.
//
// A multiplication with its addition is two operations. Only matrix products
// count towards totals, as everywhere in the field; what is done element by
// element is listed beside them, because it moves bytes. The backward pass of a
// product is two products of the same size; an input that needs no gradient
// saves one of them.
#ifndef FEEDRATE_LIB_MODEL_FLOPS_H_
#define FEEDRATE_LIB_MODEL_FLOPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/model_spec.h"

namespace feedrate {

// One part over all layers, for one sample.
struct FlopsPart {
  std::string name;
  // Matrix products, which totals count; else work element by element.
  bool counted = true;
  int64_t parameters = 0;
  int64_t forward_flops = 0;
  // Forward and backward by the rule of three.
  int64_t training_flops = 0;
  // What a training step really multiplies: without the gradient of inputs
  // that need none.
  int64_t multiplied_flops = 0;
  // Elements of inputs and outputs of the forward pass, weights apart.
  int64_t activations = 0;

  // Operations for each byte of the forward pass when `batch` samples share
  // one reading of the weights. 0 without bytes.
  double Intensity(int64_t batch, int64_t bytes_per_value) const;
  int64_t ForwardBytes(int64_t batch, int64_t bytes_per_value) const;
};

// Sum of parts that are counted; parameters and activations of all.
FlopsPart TotalOf(const std::vector<FlopsPart>& parts);

// Patch or byte embedding, QKV and projection, attention, MLP, head, and what
// is done element by element.
std::vector<FlopsPart> CountModel(const ModelSpec& spec);

// Parameters of the whole model.
int64_t CountParameters(const ModelSpec& spec);

// Three ways to put operations on a training step of one sample.

// 6 N D: parameters in matrix products times tokens.
double SixNd(const ModelSpec& spec);
// 6 N D and 12 x layers x width x tokens a token for attention, as if each
// token looked at all others.
double TransformerAware(const ModelSpec& spec);
// Training total of CountModel.
double ExactFlops(const ModelSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_FLOPS_H_
