// A GPU that trains.
#ifndef FEEDRATE_LIB_MODEL_CUDA_CUDA_DEVICE_H_
#define FEEDRATE_LIB_MODEL_CUDA_CUDA_DEVICE_H_

#include <memory>

#include "lib/model/torch/device.h"

namespace feedrate {

// GPU number `index`. Times are those of CUDA events on its stream; graphs are
// CUDA graphs. c10::Error when there is no such GPU.
std::unique_ptr<TrainDevice> MakeCudaDevice(int index);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_CUDA_CUDA_DEVICE_H_
