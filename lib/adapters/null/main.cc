// worker_null: measures nothing at all for micro.
#include <memory>

#include "lib/adapters/null/null_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::NullAdapter>());
}
