// Arrays as numpy.save writes them, in place.
#ifndef FEEDRATE_LIB_MEDIA_NPY_H_
#define FEEDRATE_LIB_MEDIA_NPY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Version 1, little-endian, C order, of bytes or float32. A view: `data` lies
// in the file's bytes.
struct NpyView {
  // `uint8` or `float32`.
  std::string dtype;
  std::vector<int> shape;
  absl::string_view data;
};

// True when `bytes` begin like an array.
bool IsNpy(absl::string_view bytes);

// InvalidArgument says what is not understood.
absl::StatusOr<NpyView> ViewNpy(absl::string_view file);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_NPY_H_
