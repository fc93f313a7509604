// worker_torch: measures torch for micro.
#include <iostream>
#include <memory>
#include <string>

#include "lib/adapters/torch/blas.h"
#include "lib/adapters/torch/torch_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  feedrate::AvoidHiddenSve(argv);
  const std::string foreign = feedrate::ForeignBlas();
  if (!foreign.empty()) {
    std::cerr << "worker_torch: " << foreign << "\n";
    return 1;
  }
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::TorchAdapter>());
}
