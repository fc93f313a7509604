// How large a sample of a batch is.
#ifndef FEEDRATE_LIB_LOADER_SAMPLE_SHAPE_H_
#define FEEDRATE_LIB_LOADER_SAMPLE_SHAPE_H_

#include <cstdint>

namespace feedrate {

// Of a sample in a batch: planes without gaps.
struct SampleShape {
  int channels = 0;
  int height = 0;
  int width = 0;
  int64_t values() const { return int64_t{channels} * height * width; }
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_SAMPLE_SHAPE_H_
