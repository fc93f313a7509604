// Where the first CUDA device is.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_GPU_BUS_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_GPU_BUS_H_

#include <string>

namespace feedrate {

// Its PCI bus id, as the CUDA runtime that torch has loaded tells it; empty
// where none is loaded.
std::string GpuBusId();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_GPU_BUS_H_
