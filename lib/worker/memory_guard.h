// Keeps a measured process from taking the machine's memory.
#ifndef FEEDRATE_LIB_WORKER_MEMORY_GUARD_H_
#define FEEDRATE_LIB_WORKER_MEMORY_GUARD_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "lib/machine/root.h"

namespace feedrate {

// Watches one process and those it starts. What it had when the watch began is
// not counted, nor is the shared corpus.
class MemoryGuard {
 public:
  virtual ~MemoryGuard() = default;

  // How often Exceeded wants to be asked; infinite when the kernel watches.
  virtual absl::Duration interval() const = 0;
  // Whether the process took more than it may. It may be dead already.
  virtual bool Exceeded() = 0;
};

// Guards `pid`: by a control group where there is one with a memory controller
// in which this process may make another, else by looking at resident memory
// every few milliseconds. Null when `limit_bytes` is 0.
std::unique_ptr<MemoryGuard> GuardMemory(const Root& root, pid_t pid,
                                         int64_t limit_bytes);

// The second of the two, for tests.
std::unique_ptr<MemoryGuard> GuardMemoryByPolling(const Root& root, pid_t pid,
                                                  int64_t limit_bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_MEMORY_GUARD_H_
