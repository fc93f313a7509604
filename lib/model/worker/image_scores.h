// How well a model tells the classes of images: `eval` and the validation of
// `train` use the same code.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"
#include "lib/model/worker/loader_batches.h"

namespace feedrate {

// Images per forward pass. Another number may round differently.
inline constexpr int64_t kScoredBatch = 64;

struct ImageScores {
  int64_t images = 0;
  // Sum of the negative logarithms of the probabilities of the images' classes.
  double loss_sum = 0;
  // Images whose class is the most likely one, or one of the five most likely.
  // If classes are equally likely, the one with the lower number comes first.
  int64_t top1 = 0;
  int64_t top5 = 0;
  SkippedFiles skipped;
};

// Adds a batch: logits, batch x classes, and the numbers of the classes. NaN
// never makes an answer right.
void AddScores(const at::Tensor& logits, const at::Tensor& classes,
               ImageScores* scores);

// `classify` maps float32 images on the host to logits on any device; `threads`
// threads call it at once, with a batch each. The same images give the same
// scores for any number of workers and threads. std::runtime_error if the
// loader fails.
ImageScores ScoreImages(
    const LabeledImages& images, const LoaderBatchOptions& options,
    size_t threads,
    const std::function<at::Tensor(const at::Tensor&)>& classify);

}  // namespace feedrate
