#include "lib/machine/cycle_counter.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace feedrate {

CycleCounter::CycleCounter(pid_t pid) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.inherit = 1;
  // Kernel cycles need a privilege; most of a transform is user space.
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  counter_.Reset(static_cast<int>(syscall(SYS_perf_event_open, &attributes, pid,
                                          -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::optional<int64_t> CycleCounter::Read() const {
  int64_t cycles = 0;
  if (!counter_.valid() ||
      read(counter_.get(), &cycles, sizeof(cycles)) != sizeof(cycles)) {
    return std::nullopt;
  }
  return cycles;
}

}  // namespace feedrate
