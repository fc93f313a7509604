// Measures weighted mixtures of data sets.
#ifndef FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_WORK_H_
#define FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_WORK_H_

#include <memory>

#include "lib/runner/core/job_mode.h"
#include "lib/runner/mixture/mixture_inputs.h"

namespace feedrate {

// Jobs of mode `mixture`.
std::shared_ptr<JobMode> MakeMixtureMode(const MixtureOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_WORK_H_
