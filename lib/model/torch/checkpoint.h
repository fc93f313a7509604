// Named tensors in a file that is complete or absent.
//
// A header of text lines, then the bytes of the tensors in the same order,
// little-endian:
//
//   feedrate_checkpoint 2
//   sha256 9f86d0...      of everything after this line
//   meta model byte_lm_tiny
//   tensor blocks.0.qkv f32 384,128
//   data
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace feedrate {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

struct Checkpoint {
  // Keys have no spaces; values are any text on one line.
  std::map<std::string, std::string> meta;
  // On the CPU: float32, bfloat16 or int64.
  NamedTensors tensors;
};

// Writes a temporary file next to `path`, syncs it and renames it: after a
// crash either the old or the new file is there. Never writes to a file that
// was there before, or through a link. std::runtime_error with the path on
// failure.
void SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// std::runtime_error with the path and what is wrong: missing, not a
// checkpoint, a checksum that does not fit (files of version 1 have none),
// truncated, too long, or inconsistent sizes.
Checkpoint LoadCheckpoint(const std::string& path);

// Copies the tensors of `from` into those of `to` with the same names. All of
// `to` must exist in `from` with the same shapes; std::runtime_error names the
// first that does not.
void CopyTensors(const NamedTensors& from, const NamedTensors& to);

}  // namespace feedrate
