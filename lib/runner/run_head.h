// The records that stand before the rows.
#ifndef FEEDRATE_LIB_RUNNER_RUN_HEAD_H_
#define FEEDRATE_LIB_RUNNER_RUN_HEAD_H_

#include "absl/time/time.h"
#include "lib/config/run_config.pb.h"
#include "lib/machine/machine.h"
#include "lib/records/records.pb.h"
#include "lib/runner/row_builder.h"

namespace feedrate {

struct RunHead {
  Env env;
  Run run;
  // What rows repeat of them.
  RunIdentity identity;
};

// A run that starts at `now` on `machine`, whose `libraries` are those under
// test.
RunHead MakeRunHead(const MachineInfo& machine, const RunConfig& config,
                    double copy_bytes_per_s, absl::Time now);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_RUN_HEAD_H_
