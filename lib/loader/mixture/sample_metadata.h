// What a sample of a mixture carries beside its frames.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_SAMPLE_METADATA_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_SAMPLE_METADATA_H_

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

// Its memory is used again and again: strings and rows grow to the longest.
struct SampleMetadata {
  // Number of the data set among the sources. Modes dataset_only and full.
  int dataset = 0;
  // The rest: mode full. Step of the first frame.
  int64_t step = 0;
  std::string episode_id;
  std::string instruction;
  // Of the first frame's step.
  std::vector<float> action;
  std::vector<float> state;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_SAMPLE_METADATA_H_
