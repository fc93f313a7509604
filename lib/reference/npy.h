// Arrays as numpy.save writes them.
#ifndef FEEDRATE_LIB_REFERENCE_NPY_H_
#define FEEDRATE_LIB_REFERENCE_NPY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Version 1, little-endian, C order, of bytes or float32.
struct NpyArray {
  // `uint8` or `float32`.
  std::string dtype;
  std::vector<int> shape;
  std::string data;
};

// InvalidArgument says what is not understood.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view file);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_NPY_H_
