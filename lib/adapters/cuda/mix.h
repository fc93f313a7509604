// Two images of a batch made one: Mixup and CutMix.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_MIX_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_MIX_H_

#include "lib/adapters/cuda/batch.h"
#include "lib/adapters/cuda/host_device.h"

namespace feedrate::fused {

// What an output has of its own image: `own` everywhere but in `box`, where it
// is all the partner's. The defaults mix nothing.
struct Mix {
  int partner = -1;  // Another image of the batch; -1: none.
  float own = 1;
  Window box;
};

FEEDRATE_HD float OwnPart(const Mix& mix, int y, int x) {
  const bool inside = y >= mix.box.top && y < mix.box.top + mix.box.height &&
                      x >= mix.box.left && x < mix.box.left + mix.box.width;
  return inside ? 0.0f : mix.own;
}

// The box of CutMix around a centre, cut at the border, whose area is 1 - own
// of the image where nothing is cut. REQUIRES: 0 <= own <= 1.
Window CutMixBox(double own, int centre_y, int centre_x, int height, int width);

// The part of the image that `box` leaves: the weight of its own label.
double CutMixOwn(const Window& box, int height, int width);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_MIX_H_
