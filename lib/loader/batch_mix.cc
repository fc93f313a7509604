#include "lib/loader/batch_mix.h"

#include <algorithm>
#include <cmath>

#include "lib/adapters/worker/params.h"

namespace feedrate {
namespace {

// Johnk's way for alpha up to 1, which is what people use; Cheng's for more
// would be faster, but this is one draw a batch.
double DrawBeta(double alpha, Random* random) {
  for (;;) {
    const double u = std::pow(random->Unit(), 1 / alpha);
    const double v = std::pow(random->Unit(), 1 / alpha);
    if (u + v > 0 && u + v <= 1) return u / (u + v);
  }
}

void MixUp(float own, const SampleShape& shape, float* a, float* b) {
  const float other = 1 - own;
  const int64_t values = shape.values();
  for (int64_t i = 0; i < values; ++i) {
    const float x = a[i], y = b[i];
    a[i] = own * x + other * y;
    b[i] = own * y + other * x;
  }
}

void SwapBox(const MixPlan& plan, const SampleShape& shape, float* a,
             float* b) {
  for (int c = 0; c < shape.channels; ++c) {
    for (int y = plan.top; y < plan.top + plan.height; ++y) {
      const int64_t begin =
          (int64_t{c} * shape.height + y) * shape.width + plan.left;
      std::swap_ranges(a + begin, a + begin + plan.width, b + begin);
    }
  }
}

// A side of the box around `centre`, cut off at the edges.
void Cut(int centre, int length, int size, int* begin, int* cut) {
  const int first = std::clamp(centre - length / 2, 0, size);
  const int last = std::clamp(centre + length / 2, 0, size);
  *begin = first;
  *cut = last - first;
}

}  // namespace

MixPlan DrawMix(const MixOptions& options, const SampleShape& shape,
                uint64_t seed) {
  MixPlan plan;
  plan.kind = options.kind;
  if (options.kind == MixKind::kNone) return plan;
  Random random(seed);
  plan.own_share = DrawBeta(options.alpha, &random);
  if (options.kind == MixKind::kMixup) return plan;
  const double side = std::sqrt(1 - plan.own_share);
  const int y = static_cast<int>(random.Below(shape.height));
  const int x = static_cast<int>(random.Below(shape.width));
  Cut(y, static_cast<int>(shape.height * side), shape.height, &plan.top,
      &plan.height);
  Cut(x, static_cast<int>(shape.width * side), shape.width, &plan.left,
      &plan.width);
  plan.own_share = 1 - static_cast<double>(plan.height) * plan.width /
                           (static_cast<double>(shape.height) * shape.width);
  return plan;
}

void MixPair(const MixPlan& plan, const SampleShape& shape, float* a,
             float* b) {
  switch (plan.kind) {
    case MixKind::kNone:
      return;
    case MixKind::kMixup:
      MixUp(static_cast<float>(plan.own_share), shape, a, b);
      return;
    case MixKind::kCutMix:
      SwapBox(plan, shape, a, b);
      return;
  }
}

}  // namespace feedrate
