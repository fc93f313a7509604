// Batches for training steps: synthetic, from a text file, and mixed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/flops.h"

namespace feedrate {

struct TrainBatch {
  at::Tensor input;
  // Class numbers or, if of floating-point type, probabilities of all classes;
  // or bytes, shifted by one from the input.
  at::Tensor target;
  // What stochastic depth multiplies the branches of the model by; see
  // KeptBranches. Undefined without it.
  at::Tensor kept = {};
};

// Files that a source could not use.
struct SkippedFiles {
  struct File {
    int64_t item = 0;  // Its number, from 0.
    std::string path;
    std::string reason;
  };
  int64_t total = 0;
  // The first of them.
  std::vector<File> first;
};

// Not thread-safe.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Returns batch number `index`, counted from 0; waits for it. It may be on
  // the host or on the device.
  virtual TrainBatch Get(int64_t index) = 0;
  // Where the next batch starts, in numbers that only this kind of source
  // understands. Empty if it cannot start there again.
  virtual std::vector<int64_t> Position() const { return {}; }
  // What was left out so far.
  virtual SkippedFiles skipped() const { return {}; }
};

struct SyntheticOptions {
  int64_t batch_size = 0;
  // Number of samples of the whole set. Batches wrap around it.
  int64_t samples = 0;
  uint64_t seed = 0;
  at::Device device = at::kCPU;
  // This process, and how many processes share each step: rank r takes the r-th
  // part of what one process with world_size x batch_size samples would take.
  int rank = 0;
  int world_size = 1;
};

// A synthetic set on the device, the same everywhere: for images, noise with a
// hint of its class; for bytes, sentences of a small made-up language. It can
// be learned, so the loss falls.
std::unique_ptr<BatchSource> MakeSyntheticBatches(
    const ModelSpec& spec, const SyntheticOptions& options);

struct TextOptions {
  std::string file;
  int64_t batch_size = 0;
  // Bytes per sample.
  int64_t context = 0;
  uint64_t seed = 0;
};

// Batches from a text file. Samples start at the beginning of a line; the seed
// and the batch number determine which, so that a resumed training continues
// with the same samples. On the host. std::runtime_error if the file does not
// exist or is shorter than one sample.
std::unique_ptr<BatchSource> MakeTextBatches(const TextOptions& options);

// Bytes of `text` as int64.
at::Tensor TensorOfBytes(const std::string& text);

struct MixingOptions {
  // Empty (none), `mixup`, `cutmix`, or `both` (alternating).
  std::string kind;
  int64_t classes = 0;
  uint64_t seed = 0;
  // The share of probability that all classes have in equal parts.
  double label_smoothing = 0;
};

// Mixup, CutMix and label smoothing on the device. Mixes each image with the
// one at the opposite end of the batch, and their classes into probabilities:
// Mixup blends images, CutMix pastes a box. The share is uniform; seed and
// `index` determine it and the box. Returns the batch unchanged if `kind` is
// empty and nothing is smoothed. std::runtime_error for an unknown kind.
TrainBatch MixBatch(const MixingOptions& options, int64_t index,
                    const TrainBatch& batch);

struct DepthOptions {
  // The share of samples that skip a branch of the last block. It grows by
  // equal steps from 0 in the first block. 0: no branch is skipped.
  double rate = 0;
  uint64_t seed = 0;
  // As in SyntheticOptions.
  int rank = 0;
  int world_size = 1;
};

// Stochastic depth: a factor for each branch of each sample, on the CPU. Its
// rows are the attention and the MLP of each of `blocks` blocks in turn, its
// columns the samples of batch number `index`. 0 leaves the branch out; those
// that are kept have more than 1, so that the mean is 1. REQUIRES: rate < 1.
at::Tensor KeptBranches(const DepthOptions& options, int64_t index,
                        int64_t blocks, int64_t batch_size);

}  // namespace feedrate
