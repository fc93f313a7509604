// The kernel's counters for a process, its descendants, and all processors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"
#include "lib/machine/root.h"

namespace feedrate {

// Counts since the process started. Values that cannot be read are absent.
struct ProcessCounters {
  // CPU time of all its threads.
  std::optional<double> cpu_s;
  // Time in which its main thread was runnable but had no processor.
  std::optional<double> run_delay_s;
  // How often its main thread was preempted.
  std::optional<int64_t> involuntary_switches;
  // How often its main thread moved to another processor.
  std::optional<int64_t> migrations;
  // Page faults that needed the disk.
  std::optional<int64_t> major_faults;
  // Peak resident memory, minus the shared memory it has now.
  std::optional<int64_t> rss_peak_bytes;
};

// Values that cannot be read, or of a process that is gone, are absent.
ProcessCounters ReadProcessCounters(const Root& root, pid_t pid);

// Counts for all processors together, since the machine started.
struct ProcessorCounters {
  int processors = 0;
  // Time that the hypervisor gave to other guests.
  std::optional<double> steal_s;
  // Time in which processors were busy.
  std::optional<double> busy_s;
};

ProcessorCounters ReadProcessorCounters(const Root& root);

// Returns `pid` and all its living descendants, parents first.
std::vector<pid_t> ProcessTree(const Root& root, pid_t pid);

// Which memory counts. Other programs change a process's share of the files
// that it maps, such as libraries, without its doing; what it wrote is its own.
enum class PssOf { kAll, kWritten };

// Returns the memory of the process tree of `pid` plus that of `parent`, which
// forked `pid` with its libraries loaded. Shared pages count once (PSS),
// including the shares of other children of `parent`; private pages of those
// children do not count. Mappings whose name contains `left_out` do not count.
// Takes milliseconds for a large process. Returns nullopt if it cannot be read.
std::optional<int64_t> TreePssBytes(const Root& root, pid_t parent, pid_t pid,
                                    absl::string_view left_out,
                                    PssOf which = PssOf::kAll);

// The bytes that a process tree has read, including by processes that have
// ended and been waited for.
struct ReadBytes {
  // From storage devices.
  int64_t device = 0;
  // By calls of read, from files in the page cache and from pipes too. io_uring
  // and maps do not count.
  int64_t calls = 0;
};

// Returns nullopt if it cannot be read.
std::optional<ReadBytes> TreeReadBytes(const Root& root, pid_t pid);

// Counts the user-space processor cycles of another process from construction
// on, including threads started later. Virtual machines often have no such
// counters, and kernels may deny access to them; then Read always returns
// nullopt.
class CycleCounter {
 public:
  explicit CycleCounter(pid_t pid);
  std::optional<int64_t> Read() const;

 private:
  UniqueFd counter_;
};

// Counts the user-space instructions of processes that this one starts from
// construction on, from the moment they execute a program, once they have
// ended. Where there are no such counters, Read always returns nullopt.
class InstructionCounter {
 public:
  InstructionCounter();
  std::optional<int64_t> Read() const;

 private:
  UniqueFd counter_;
};

}  // namespace feedrate
