// A machine as the records that programs write.
#ifndef FEEDRATE_LIB_ENVIRONMENT_ENV_RECORD_H_
#define FEEDRATE_LIB_ENVIRONMENT_ENV_RECORD_H_

#include "absl/time/time.h"
#include "lib/machine/check.h"
#include "lib/machine/machine.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// The `env` record that collect_env writes, and every runner first.
Env EnvRecord(const MachineInfo& machine, absl::Time collected_at);

EnvCheck EnvCheckRecord(const Check& check);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ENVIRONMENT_ENV_RECORD_H_
