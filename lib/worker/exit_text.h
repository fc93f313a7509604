// How a process ended, in words.
#ifndef FEEDRATE_LIB_WORKER_EXIT_TEXT_H_
#define FEEDRATE_LIB_WORKER_EXIT_TEXT_H_

#include <string>

namespace feedrate {

// From what waitpid gives: `killed by SIGSEGV (Segmentation fault)`, `exited
// with code 3`.
std::string ExitText(int wait_status);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_EXIT_TEXT_H_
