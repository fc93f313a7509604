#include "lib/model/torch/mixing.h"

#include <ATen/ops/flip.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/one_hot.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace feedrate {
namespace {

// One side of a box: `length` places around a centre, cut at the borders.
struct Span {
  int64_t first;
  int64_t length;
};

Span SpanAround(double centre, double length, int64_t size) {
  const auto first = static_cast<int64_t>(
      std::max(0.0, std::round(centre * size - length / 2)));
  const auto last = static_cast<int64_t>(
      std::min<double>(size, std::round(centre * size + length / 2)));
  return {std::min(first, size), std::max<int64_t>(0, last - first)};
}

}  // namespace

TrainBatch MixBatch(const MixingOptions& options, int64_t index,
                    const TrainBatch& batch) {
  if (options.kind.empty()) return batch;
  std::string kind = options.kind;
  if (kind == "both") kind = index % 2 == 0 ? "mixup" : "cutmix";
  if (kind != "mixup" && kind != "cutmix") {
    throw std::runtime_error("mixing \"" + kind +
                             "\" is unknown; use mixup, cutmix or both");
  }
  std::mt19937_64 random(options.seed * 1000003 + index);
  const auto uniform = [&random] {
    return std::generate_canonical<double, 53>(random);
  };
  double share = uniform();  // Of the other image.
  const at::Tensor other = at::flip(batch.input, {0});
  at::Tensor images;
  if (kind == "mixup") {
    images = at::lerp(batch.input, other, share);
  } else {
    const int64_t height = batch.input.size(2);
    const int64_t width = batch.input.size(3);
    const double side = std::sqrt(share);
    const Span rows = SpanAround(uniform(), side * height, height);
    const Span columns = SpanAround(uniform(), side * width, width);
    images = batch.input.clone();
    images.narrow(2, rows.first, rows.length)
        .narrow(3, columns.first, columns.length)
        .copy_(other.narrow(2, rows.first, rows.length)
                   .narrow(3, columns.first, columns.length));
    share = static_cast<double>(rows.length * columns.length) /
            static_cast<double>(height * width);
  }
  const at::Tensor classes =
      at::one_hot(batch.target, options.classes).to(at::kFloat);
  return {images, at::lerp(classes, at::flip(classes, {0}), share)};
}

}  // namespace feedrate
