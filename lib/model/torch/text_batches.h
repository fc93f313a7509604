// Batches out of a file of text.
#ifndef FEEDRATE_LIB_MODEL_TORCH_TEXT_BATCHES_H_
#define FEEDRATE_LIB_MODEL_TORCH_TEXT_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "lib/model/torch/batches.h"

namespace feedrate {

struct TextOptions {
  std::string file;
  int64_t batch_size = 0;
  // Bytes of a sample.
  int64_t context = 0;
  uint64_t seed = 0;
};

// Pieces of the file that start at the beginning of a line; which, the seed and
// the batch's number decide, so that a resumed training sees what it would have
// seen. On the host. std::runtime_error when the file is not there or shorter
// than one sample.
std::unique_ptr<BatchSource> MakeTextBatches(const TextOptions& options);

// Bytes of `text` as int64.
at::Tensor TensorOfBytes(const std::string& text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_TEXT_BATCHES_H_
