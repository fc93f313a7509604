// worker_cuda: measures our kernels, and our loader for the device.
#include <memory>

#include "lib/adapters/worker/server.h"
#include "lib/loader/cuda/cuda_loader_adapter.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::CudaLoaderAdapter>());
}
