// main() of a worker program:
//
//   int main(int argc, char** argv) {
//     return feedrate::WorkerMain(argc, argv,
//                                 std::make_unique<feedrate::NullAdapter>());
//   }
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_WORKER_MAIN_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_WORKER_MAIN_H_

#include <memory>

#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// Where a worker finds the runner.
inline constexpr int kControlFd = 3;

// Serves the runner on file descriptor 3. Returns 0 when the runner hung up, 1
// after a message on standard error when there is none or it talks nonsense.
int WorkerMain(int argc, char** argv, std::unique_ptr<Adapter> adapter);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_WORKER_MAIN_H_
