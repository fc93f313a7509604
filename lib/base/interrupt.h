// Ctrl-C and SIGTERM as something that can be waited for.
#ifndef FEEDRATE_LIB_BASE_INTERRUPT_H_
#define FEEDRATE_LIB_BASE_INTERRUPT_H_

#include "lib/base/exit_code.h"

namespace feedrate {

// While one lives, SIGINT and SIGTERM do not end the process: the run looks
// here, writes its last line and ends by itself. A second signal does end it.
// One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Readable from the first signal on.
  int fd() const;
  bool happened() const;
  // 130 for Ctrl-C, 2 for SIGTERM. REQUIRES: happened().
  ExitCode exit_code() const;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_INTERRUPT_H_
