// Which run of the kernel this is.
#ifndef FEEDRATE_LIB_TAR_STAGE_BOOT_ID_H_
#define FEEDRATE_LIB_TAR_STAGE_BOOT_ID_H_

#include <string>

namespace feedrate::tar {

// What was written but not synced survives a kill, and not a crash of the
// machine: what says that it is there holds for one boot only. The kernel's own
// id, or, without /proc, the second at which it started.
std::string BootId();

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_BOOT_ID_H_
