#include "lib/adapters/torch/gpu_bus.h"

#include <dlfcn.h>

#include <string>

namespace feedrate {

std::string GpuBusId() {
  // The headers of CUDA are not needed to build for libtorch.
  using GetBusId = int (*)(char* text, int length, int device);
  const auto get_bus_id =
      reinterpret_cast<GetBusId>(dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId"));
  char text[32] = {};
  if (get_bus_id == nullptr || get_bus_id(text, sizeof(text), 0) != 0) {
    return "";
  }
  return text;
}

}  // namespace feedrate
