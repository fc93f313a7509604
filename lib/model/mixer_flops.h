// How ways to mix a sequence grow with its length.
//
// One layer for one sequence, projections included, of three kinds:
//
//   attention  Q, K, V and output projections; every token with every other
//   hyena      order 2: three projections and one out, a short convolution of
//              3 taps on each, two gated long convolutions by FFT, and the
//              filters made by a small network from positions
//   ckconv     a continuous-kernel convolution: one long depthwise convolution
//              by FFT whose kernel a small sine network makes, then a product
//              with the width
//
// A long convolution pads to twice the length. A real FFT of n points is
// counted as 2.5 n log2 n operations, a complex product as 6.
#ifndef FEEDRATE_LIB_MODEL_MIXER_FLOPS_H_
#define FEEDRATE_LIB_MODEL_MIXER_FLOPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/model/flops.h"

namespace feedrate {

struct MixerShape {
  int64_t length = 0;
  int64_t width = 384;
  // Width of the networks that make kernels, and their layers between input
  // and output.
  int64_t kernel_width = 64;
  int64_t kernel_layers = 2;
};

std::vector<std::string> MixerNames();

// Parts of one layer. Unlike a model's, those that are no matrix products count
// too: they are the point. InvalidArgument for another name.
absl::StatusOr<std::vector<FlopsPart>> CountMixer(const std::string& mixer,
                                                  const MixerShape& shape);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_MIXER_FLOPS_H_
