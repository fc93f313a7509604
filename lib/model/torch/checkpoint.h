// Named tensors in a file that is whole or absent.
//
// A header of text lines, then the tensors' bytes in its order, little-endian:
//
//   feedrate_checkpoint 1
//   meta model byte_lm_tiny
//   tensor blocks.0.qkv f32 384,128
//   data
#ifndef FEEDRATE_LIB_MODEL_TORCH_CHECKPOINT_H_
#define FEEDRATE_LIB_MODEL_TORCH_CHECKPOINT_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace feedrate {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

struct Checkpoint {
  // Words without spaces to any text on one line.
  std::map<std::string, std::string> meta;
  // On the CPU, of type float32 or int64.
  NamedTensors tensors;
};

// Writes beside `path`, flushes to the disk, renames: after a crash the old
// file or the new one is there. std::runtime_error with the path when it
// cannot.
void SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// std::runtime_error with the path and what is wrong: not there, not ours, cut
// short, too long, or a size that does not fit.
Checkpoint LoadCheckpoint(const std::string& path);

// Copies the tensors of `from` with the names of `to` into those. All of `to`
// must be there with the same shapes; std::runtime_error names the first that
// is not.
void CopyTensors(const NamedTensors& from, const NamedTensors& to);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_CHECKPOINT_H_
