// OpenCV operations, made from entries of configs/transforms/.
//
// Operations are found by the entry's `native_op`. Which parameters are present
// decides the rest, never the transform's name.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/ops/params.h"
#include "opencv2/core.hpp"

namespace feedrate {

// One OpenCV operation with its parameters. Transforms `in`, which must not be
// written to, into `out`, which is made contiguous and may hold an earlier
// output to be overwritten. Both hold 8-bit values. Keeps scratch memory
// between calls; not thread-safe.
using Op = std::function<void(const cv::Mat& in, Random* random, cv::Mat* out)>;

// Makes the operation from the spec's native_op, params and wrap.
// InvalidArgument names what is not understood.
absl::StatusOr<Op> MakeOp(const TransformSpec& spec);

// The rest is for the files of this folder that define operations.

struct OpEntry {
  absl::string_view native_op;
  // Reads the parameters and records errors in `params`.
  Op (*make)(Params* params);
};
using OpTable = std::vector<OpEntry>;

// One table per file: color_ops.cc, crop.cc, filter_ops.cc, geometry_ops.cc.
// Each documents its operations and their parameters.
const OpTable& ColorOps();
const OpTable& CropOps();
const OpTable& FilterOps();
const OpTable& GeometryOps();

// The image with its channels as columns. Operations that treat every value
// alike are faster this way, and not limited to four channels.
inline cv::Mat Flat(const cv::Mat& image) { return image.reshape(1); }

// The same for `out`, after giving it the size and type of `in`.
inline cv::Mat FlatLike(const cv::Mat& in, cv::Mat* out) {
  out->create(in.size(), in.type());
  return out->reshape(1);
}

// The output for each value, for cv::LUT.
using Table = std::array<uint8_t, 256>;

// Fills the table from a function of the value; rounds to nearest, saturates.
template <typename Function>
Table MakeTable(Function&& function) {
  Table table;
  for (int i = 0; i < 256; ++i) {
    table[i] = cv::saturate_cast<uint8_t>(static_cast<double>(function(i)));
  }
  return table;
}

// A view for cv::LUT: `table` must outlive it.
inline cv::Mat TableMat(const Table& table) {
  return cv::Mat(1, 256, CV_8U, const_cast<uint8_t*>(table.data()));
}

// Readers of parameters that several operations share.

// `interpolation=INTER_LINEAR`.
int ReadInterpolation(Params* params);

// `border_mode=BORDER_CONSTANT`; OpenCV's default when missing.
int ReadBorder(Params* params);

// How to fill what an operation finds outside the image.
struct Outside {
  int border = cv::BORDER_CONSTANT;
  cv::Scalar fill;
};
// `border_mode` and, where that is BORDER_CONSTANT, `fill`.
Outside ReadOutside(Params* params);

// `size=(height,width)`, both positive.
cv::Size ReadSize(Params* params);

// `ksize=(width,height)` or `ksize=5`: odd numbers.
cv::Size ReadKernelSize(Params* params);

}  // namespace feedrate
