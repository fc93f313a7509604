// Operation counts of models and sequence mixers as records, a table and a
// figure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/model/flops.h"
#include "lib/records/train.pb.h"

namespace feedrate {

struct FlopsOptions {
  // Names of models and mixers.
  std::vector<std::string> models;
  // Sequence lengths for the mixers.
  std::vector<int64_t> lengths;
  int64_t width = 384;
  // For byte counts: samples that share one read of the weights, and bytes per
  // value.
  int64_t batch_size = 1;
  int64_t bytes_per_value = 2;
};

// One record per part, with `total` last for each model and each length of a
// mixer. InvalidArgument for an unknown name or an invalid size.
absl::StatusOr<std::vector<Flops>> FlopsRecords(const FlopsOptions& options);

// For people; Markdown tables if `markdown`.
std::string FlopsTable(const std::vector<Flops>& records, bool markdown);

// Totals of the mixers over the sequence length, as an SVG file.
// InvalidArgument without a mixer of at least two lengths.
absl::StatusOr<std::string> FlopsFigure(const std::vector<Flops>& records);

// How the cost of sequence mixers grows with the length of the sequence.
//
// One layer for one sequence, including projections, of three kinds:
//
//   attention  Q, K, V and output projections; every token with every other
//   hyena      order 2: three projections and one out, a short convolution of
//              3 taps on each, two gated long convolutions by FFT, and the
//              filters made by a small network from positions
//   ckconv     a continuous-kernel convolution: one long depthwise convolution
//              by FFT whose kernel a small sine network makes, then a product
//              with the width
//
// A long convolution pads to twice the length. A real FFT of n points counts as
// 2.5 n log2 n operations, a complex product as 6.

struct MixerShape {
  int64_t length = 0;
  int64_t width = 384;
  // Width of the networks that make kernels, and number of their hidden layers.
  int64_t kernel_width = 64;
  int64_t kernel_layers = 2;
};

std::vector<std::string> MixerNames();

// Parts of one layer. Unlike those of a model, parts that are not matrix
// products count too: they are the point. InvalidArgument for an unknown name.
absl::StatusOr<std::vector<FlopsPart>> CountMixer(const std::string& mixer,
                                                  const MixerShape& shape);

}  // namespace feedrate
