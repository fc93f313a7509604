// Small workloads, each limited by one part of the machine, and how fast this
// machine runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/unique_fd.h"

namespace feedrate {

// The workloads. Each function does one unit of work in this thread and returns
// whether it could. Child processes do not get the memory, so it does not count
// as theirs, and do not inherit the file.
class ReferenceWork {
 public:
  struct Options {
    size_t copy_bytes = 8 << 20;
    // At most copy_bytes.
    size_t write_bytes = 256 << 10;
    // Where Write puts a file. Empty: $TMPDIR or /tmp.
    std::string folder;
  };
  explicit ReferenceWork(const Options& options);
  ReferenceWork(const ReferenceWork&) = delete;
  ReferenceWork& operator=(const ReferenceWork&) = delete;
  ~ReferenceWork();

  // Integers, table lookups and branches: about 0.1 ms.
  bool Compute();
  // Copies memory.
  bool Copy();
  // Writes to a file without a name and synchronizes it.
  bool Write();

  struct Time {
    std::string workload;
    double seconds = 0;
  };
  // Runs `cpu`, `memory` and `disk` for a few milliseconds each on `cpus`, or
  // wherever this thread may run if there are none. Each runs twice, and the
  // second pass is timed: the first depends on what ran before and left its
  // data in the caches. Leaves out what cannot run.
  std::vector<Time> TimeSecondPasses(const std::vector<int>& cpus);

 private:
  const Options options_;
  std::vector<uint32_t> table_;
  // Twice copy_bytes. Null if there is not as much.
  char* const memory_;
  UniqueFd file_;
};

}  // namespace feedrate
