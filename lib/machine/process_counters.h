// What a kernel counts about one process.
#ifndef FEEDRATE_LIB_MACHINE_PROCESS_COUNTERS_H_
#define FEEDRATE_LIB_MACHINE_PROCESS_COUNTERS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "lib/machine/root.h"

namespace feedrate {

// Since the process started. Absent: not readable here.
struct ProcessCounters {
  // Processor time of all its threads.
  std::optional<double> cpu_s;
  // Time that its first thread could have run and had no processor.
  std::optional<double> run_delay_s;
  // How often its first thread was made to give up its processor.
  std::optional<int64_t> involuntary_switches;
  // How often its first thread moved to another processor.
  std::optional<int64_t> migrations;
  // Faults that needed the disk.
  std::optional<int64_t> major_faults;
  // Largest resident memory, without shared memory as it is now.
  std::optional<int64_t> rss_peak_bytes;
};

// What is not readable, or of a process that is gone, is absent.
ProcessCounters ReadProcessCounters(const Root& root, pid_t pid);

// What a kernel counts about all processors together, since it started.
struct ProcessorCounters {
  int processors = 0;
  // Time that the hypervisor gave to others.
  std::optional<double> steal_s;
  // Time in which a processor did something.
  std::optional<double> busy_s;
};

ProcessorCounters ReadProcessorCounters(const Root& root);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_PROCESS_COUNTERS_H_
