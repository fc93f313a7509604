// A process and those that it started, as one.
#ifndef FEEDRATE_LIB_MACHINE_PROCESS_TREE_H_
#define FEEDRATE_LIB_MACHINE_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/machine/root.h"

namespace feedrate {

// `pid` and all below it that live now, parents first.
std::vector<pid_t> ProcessTree(const Root& root, pid_t pid);

// Memory of all of them with shared pages counted once (PSS), without maps
// whose name holds `left_out`. Takes milliseconds for a large process. Absent:
// not readable here.
std::optional<int64_t> TreePssBytes(const Root& root, pid_t pid,
                                    absl::string_view left_out);

// Bytes that the tree has caused to be read from devices, those of processes
// that are gone and were waited for included. Absent: not readable here.
std::optional<int64_t> TreeReadBytes(const Root& root, pid_t pid);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_PROCESS_TREE_H_
