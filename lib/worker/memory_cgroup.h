// A control group (version 2) that limits the memory of one process.
#ifndef FEEDRATE_LIB_WORKER_MEMORY_CGROUP_H_
#define FEEDRATE_LIB_WORKER_MEMORY_CGROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "lib/machine/root.h"
#include "lib/worker/memory_guard.h"

namespace feedrate {

// Makes a group beside this process's own, where the parent hands out the
// memory controller, and moves `pid` there. Memory that a process has stays
// charged where it was taken, so the limit counts from now on. Null when any of
// that is not allowed or not there.
std::unique_ptr<MemoryGuard> GuardMemoryByCgroup(const Root& root, pid_t pid,
                                                 int64_t limit_bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_MEMORY_CGROUP_H_
