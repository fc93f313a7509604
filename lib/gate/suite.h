// The verdict on all jobs together, and what the program exits with.
#ifndef FEEDRATE_LIB_GATE_SUITE_H_
#define FEEDRATE_LIB_GATE_SUITE_H_

#include <vector>

#include "lib/base/exit_code.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct SuiteOptions {
  // Jobs that may be `cannot_tell`, in percent of those judged. A single job
  // may never be.
  double max_cannot_tell_percent = 5;
};

// In this order: 2 when a side crashed, failed, ran out of time or memory
// (never a regression); 3 for any slower; 5 when nothing was comparable; 4 when
// too many cannot be told; else 0. The exit code is in the record.
Verdict SuiteVerdict(const std::vector<Verdict>& jobs,
                     const SuiteOptions& options);

ExitCode ExitCodeOfSuite(const Verdict& suite);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_SUITE_H_
