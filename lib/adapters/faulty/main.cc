// worker_faulty: misbehaves on purpose, for tests of micro.
#include <memory>

#include "lib/adapters/faulty/faulty_adapter.h"
#include "lib/adapters/worker/server.h"

int main(int argc, char** argv) {
  return feedrate::WorkerMain(argc, argv,
                              std::make_unique<feedrate::FaultyAdapter>());
}
