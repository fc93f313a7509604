// worker_native: measures feedrate's own loader for pipeline.
#include <memory>

#include "lib/adapters/native/native_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::NativeAdapter>());
}
