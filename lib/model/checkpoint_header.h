// The header of a checkpoint (lib/model/torch/checkpoint.h), for programs with
// and without libtorch. Standard library and hashes only.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace feedrate {

struct CheckpointTensor {
  std::string name;
  std::string type;  // f32, bf16 or i64.
  std::vector<int64_t> shape;
  int64_t bytes = 0;
};

struct CheckpointHeader {
  // SHA-256 of everything after the line that has it. Empty in files of
  // versions that had none.
  std::string sha256;
  // Keys have no spaces; values are any text on one line.
  std::map<std::string, std::string> meta;
  std::vector<CheckpointTensor> tensors;
};

// Reads a header, up to the first byte of the tensors. Returns what is wrong,
// or "" if nothing is.
std::string ReadCheckpointHeader(std::istream& in, CheckpointHeader* header);

// Reads a whole checkpoint from its beginning. Returns what is wrong with its
// header or its checksum, or "" if nothing is. Without a checksum, nothing is
// known of the tensors.
std::string CheckCheckpoint(std::istream& in, CheckpointHeader* header);

// The lines after that of the checksum.
std::string PrintCheckpointLines(const CheckpointHeader& header);
// Inverse of ReadCheckpointHeader.
std::string PrintCheckpointHeader(const CheckpointHeader& header);

}  // namespace feedrate
