// worker_torch: measures torch for micro.
#include <memory>

#include "lib/adapters/torch/arm_blas.h"
#include "lib/adapters/torch/torch_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  feedrate::AvoidHiddenSve(argv);
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::TorchAdapter>());
}
