// A child's life.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_SERVE_COMMANDS_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_SERVE_COMMANDS_H_

#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// Answers the lines of `commands` on `replies` until the commands end or nobody
// reads the replies. Returns the exit status: 1, after a message on standard
// error and in a reply, when a line is no command. Takes over `input_fd`.
int ServeCommands(int commands, int replies, int input_fd, Adapter* adapter);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_SERVE_COMMANDS_H_
