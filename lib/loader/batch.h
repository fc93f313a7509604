// What a loader delivers.
#ifndef FEEDRATE_LIB_LOADER_BATCH_H_
#define FEEDRATE_LIB_LOADER_BATCH_H_

#include <cstdint>
#include <vector>

#include "lib/loader/batch_mix.h"
#include "lib/loader/sample_shape.h"

namespace feedrate {

// `size` samples, one behind the other: float32 NCHW, contiguous.
struct LoaderBatch {
  int64_t index = 0;
  const float* data = nullptr;
  int size = 0;
  SampleShape shape;
  // Which item each sample is: what a caller finds labels by.
  std::vector<int64_t> items;
  MixPlan mix;

  int64_t bytes() const {
    return size * shape.values() * static_cast<int64_t>(sizeof(float));
  }
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_BATCH_H_
