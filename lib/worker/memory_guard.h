// Keeps a measured process from using up the machine's memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "lib/machine/root.h"

namespace feedrate {

// Watches one process and its children. Memory that it had when the watch began
// is not counted, nor is the shared corpus.
class MemoryGuard {
 public:
  virtual ~MemoryGuard() = default;

  // How often to call Exceeded; infinite if the kernel enforces the limit.
  virtual absl::Duration interval() const = 0;
  // Whether the process exceeded its limit. It may be dead already.
  virtual bool Exceeded() = 0;
};

// Guards `pid` by a control group if this process may create one with a memory
// controller, else by reading its resident memory every few milliseconds.
// Returns null if `limit_bytes` is 0.
std::unique_ptr<MemoryGuard> GuardMemory(const Root& root, pid_t pid,
                                         int64_t limit_bytes);

// The second method, for tests.
std::unique_ptr<MemoryGuard> GuardMemoryByPolling(const Root& root, pid_t pid,
                                                  int64_t limit_bytes);

// The first method, for tests. Creates a control group (version 2) next to this
// process's own, if the parent group enables the memory controller, and moves
// `pid` into it. Memory that a process already has stays charged to its old
// group, so the limit applies to new memory only. Returns null if any of that
// is not allowed or not available.
std::unique_ptr<MemoryGuard> GuardMemoryByCgroup(const Root& root, pid_t pid,
                                                 int64_t limit_bytes);

}  // namespace feedrate
