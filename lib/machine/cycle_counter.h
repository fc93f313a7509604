// Processor cycles of another process.
#ifndef FEEDRATE_LIB_MACHINE_CYCLE_COUNTER_H_
#define FEEDRATE_LIB_MACHINE_CYCLE_COUNTER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "lib/base/unique_fd.h"

namespace feedrate {

// Counts from its making on, in user space, threads started later included.
// Virtual machines often have no such counters, and kernels may keep them from
// users; then there is never a number.
class CycleCounter {
 public:
  explicit CycleCounter(pid_t pid);
  std::optional<int64_t> Read() const;

 private:
  UniqueFd counter_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_CYCLE_COUNTER_H_
