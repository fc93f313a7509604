// The process that has loaded a library and forks a child a job.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_SERVER_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_SERVER_H_

#include "absl/status/status.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// Serves the runner at the other end of `control`, a Unix stream socket, until
// that end closes; then kills and reaps the children that are left. An error
// says what the runner did wrong; its children are gone then, too.
//
// Returns in the server alone: children leave by _exit.
absl::Status Serve(int control, Adapter* adapter);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_SERVER_H_
