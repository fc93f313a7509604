// What the device does at best: products and copies.
#ifndef FEEDRATE_LIB_MODEL_TORCH_DEVICE_RATES_H_
#define FEEDRATE_LIB_MODEL_TORCH_DEVICE_RATES_H_

#include "lib/model/torch/device.h"

namespace feedrate {

struct DeviceRates {
  // Operations a second of a large product in the type that training uses.
  double matmul_flops = 0;
  // Bytes a second of a large copy, those read and those written.
  double copy_bytes = 0;
};

// The best of a few tries, some tenths of a second in all.
DeviceRates MeasureRates(TrainDevice* device, at::ScalarType type);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_DEVICE_RATES_H_
