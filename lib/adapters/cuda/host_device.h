// FEEDRATE_HD, for the kernels of this folder.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_HOST_DEVICE_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_HOST_DEVICE_H_

#include "lib/base/host_device.h"

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_HOST_DEVICE_H_
