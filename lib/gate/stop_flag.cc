#include "lib/gate/stop_flag.h"

#include <signal.h>

namespace feedrate {
namespace {

volatile sig_atomic_t stopped = 0;

void Stop(int) { stopped = 1; }

}  // namespace

void CatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = Stop;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool IsStopped() { return stopped != 0; }

}  // namespace feedrate
