// Makes a memory file read-only for good.
#ifndef FEEDRATE_LIB_BASE_SEAL_MEMORY_H_
#define FEEDRATE_LIB_BASE_SEAL_MEMORY_H_

namespace feedrate {

// Seals `fd`, which memfd_create made with MFD_ALLOW_SEALING: nobody writes to
// it or changes its size from now on. False with errno when that is impossible.
//
// The kernel says EBUSY while anything holds on to one of its pages, which may
// be its own housekeeping for a moment (reclaim, migration, a watcher of
// accesses); so it is tried for some seconds.
bool SealMemory(int fd);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_SEAL_MEMORY_H_
