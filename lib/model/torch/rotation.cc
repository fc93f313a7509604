#include "lib/model/torch/rotation.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros.h>

namespace feedrate {
namespace {

// As in most language models; images have few positions and need a faster
// slowest turn.
constexpr double kTextBase = 10000;
constexpr double kImageBase = 100;

// positions x pairs, double.
at::Tensor Angles(const at::Tensor& positions, int64_t pairs, double base) {
  const at::Tensor steps = at::arange(pairs, at::kDouble).div(pairs);
  return at::outer(positions, at::pow(base, steps.neg()));
}

at::Tensor TextAngles(const ModelSpec& spec) {
  return Angles(at::arange(spec.tokens(), at::kDouble), spec.head_width() / 2,
                kTextBase);
}

at::Tensor ImageAngles(const ModelSpec& spec) {
  const int64_t side = spec.image_size / spec.patch_size;
  const int64_t pairs = spec.head_width() / 4;
  const at::Tensor patch = at::arange(spec.patches(), at::kLong);
  const at::Tensor row = patch.floor_divide(side).to(at::kDouble);
  const at::Tensor column = patch.remainder(side).to(at::kDouble);
  const at::Tensor placed = at::cat(
      {Angles(row, pairs, kImageBase), Angles(column, pairs, kImageBase)},
      /*dim=*/1);
  const at::Tensor still =
      at::zeros({1 + spec.registers, 2 * pairs}, at::kDouble);
  return at::cat({still, placed}, /*dim=*/0);
}

}  // namespace

Rotation MakeRotation(const ModelSpec& spec) {
  at::Tensor angles =
      spec.kind == ModelKind::kVit ? ImageAngles(spec) : TextAngles(spec);
  // Both halves of the width turn by the same angle.
  angles = at::cat({angles, angles}, /*dim=*/1);
  return {at::cos(angles).to(at::kFloat), at::sin(angles).to(at::kFloat)};
}

}  // namespace feedrate
