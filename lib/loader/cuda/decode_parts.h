// A batch that is decoded as a whole where that works, else in parts. Needs no
// GPU.
#ifndef FEEDRATE_LIB_LOADER_CUDA_DECODE_PARTS_H_
#define FEEDRATE_LIB_LOADER_CUDA_DECODE_PARTS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

// Decodes files first … first+count-1 of a batch.
using DecodePart = std::function<absl::Status(int first, int count)>;

// Files 0 … count-1. An engine says of a batch that something in it is wrong
// (DataLoss), not in which file, and at times that a batch is too much for it
// (ResourceExhausted): halves are tried then, and halves of these. Returns the
// files that fail alone; any other error as it is.
absl::StatusOr<std::vector<int>> DecodeInParts(int count,
                                               const DecodePart& decode);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_DECODE_PARTS_H_
