// Names of the host, its kernel and its distribution.
#ifndef FEEDRATE_LIB_MACHINE_OS_H_
#define FEEDRATE_LIB_MACHINE_OS_H_

#include <string>

#include "lib/machine/root.h"

namespace feedrate {

// What is not known is empty.
struct OsInfo {
  std::string host;
  // Release of the kernel, such as `6.1.0-18-amd64`.
  std::string kernel;
  // Name and version, such as `Debian GNU/Linux 12 (bookworm)`.
  std::string distribution;
  // Version of the C library in this process, such as `2.36`; empty for
  // another machine's files.
  std::string glibc;
};

OsInfo ReadOs(const Root& root);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_OS_H_
