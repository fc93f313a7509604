// worker_cuda: measures our kernels and our GPU loader.
#include <memory>

#include "lib/adapters/cuda/cuda_loader.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::CudaLoaderAdapter>());
}
