// One OpenCV operation with its parameters.
//
// A family of operations is one file with a table of OpEntry. An entry is found
// by the `native_op` of configs/transforms/; which parameters are there decides
// the rest, never the transform's name.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_OP_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_OP_H_

#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/adapters/worker/params.h"
#include "lib/adapters/worker/random.h"
#include "opencv2/core.hpp"

namespace feedrate {

// Transforms `in`, which must not be written to, into `out`, which is made
// contiguous and may hold an earlier output to be overwritten. Both are of
// 8-bit values. Keeps scratch memory between calls; not thread-safe.
using Op = std::function<void(const cv::Mat& in, Random* random, cv::Mat* out)>;

struct OpEntry {
  absl::string_view native_op;
  // Reads the parameters, whose mistakes stay in `params`.
  Op (*make)(Params* params);
};
using OpTable = std::vector<OpEntry>;

// The image with its channels as columns. What treats every value alike does
// so faster, and is not limited to four channels.
inline cv::Mat Flat(const cv::Mat& image) { return image.reshape(1); }

// The same of `out`, made of the size and type of `in` first.
inline cv::Mat FlatLike(const cv::Mat& in, cv::Mat* out) {
  out->create(in.size(), in.type());
  return out->reshape(1);
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_OP_H_
