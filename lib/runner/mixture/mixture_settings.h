// What a job of mode `mixture` asks for.
#ifndef FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_SETTINGS_H_
#define FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_SETTINGS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

inline bool IsMixtureJob(const Job& job) { return job.mode() == "mixture"; }

struct MixtureSettingsOfJob {
  // All but `on_error`, which a run decides.
  MixtureSpec spec;
  int64_t steps = 0;
  int64_t warmup = 0;
  // By data set, in place of those that the data comes with.
  std::map<std::string, double> weights;

  // Samples of a whole run.
  int64_t samples() const { return (warmup + steps) * spec.batch_size; }
};

// By the job's settings; `plan` fills in all of them. InvalidArgument names one
// that is unknown, missing, or has no such value.
absl::StatusOr<MixtureSettingsOfJob> ParseMixtureSettings(const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_SETTINGS_H_
