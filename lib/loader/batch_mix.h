// Mixup and CutMix: samples of a batch mixed with each other.
#ifndef FEEDRATE_LIB_LOADER_BATCH_MIX_H_
#define FEEDRATE_LIB_LOADER_BATCH_MIX_H_

#include <cstdint>

#include "lib/loader/sample_shape.h"

namespace feedrate {

enum class MixKind { kNone, kMixup, kCutMix };

struct MixOptions {
  MixKind kind = MixKind::kNone;
  // Of the Beta(alpha, alpha) that the share is drawn from. REQUIRES: > 0.
  double alpha = 1;
};

// How one batch is mixed. Sample i of n goes with sample n - 1 - i, so that
// each pair is mixed in place, as soon as both are there, by any thread.
struct MixPlan {
  MixKind kind = MixKind::kNone;
  // Share of a sample's own label; its partner's has the rest.
  double own_share = 1;
  // CutMix: what comes from the partner.
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
};

// Draws the plan of a batch; for CutMix the share is that of the box as it is
// after it was cut off at the edges.
MixPlan DrawMix(const MixOptions& options, const SampleShape& shape,
                uint64_t seed);

// The partner of `sample` in a batch of `size`: itself in the middle of an odd
// number.
inline int MixPartner(int sample, int size) { return size - 1 - sample; }

// Mixes both samples of a pair. REQUIRES: a != b.
void MixPair(const MixPlan& plan, const SampleShape& shape, float* a, float* b);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_BATCH_MIX_H_
