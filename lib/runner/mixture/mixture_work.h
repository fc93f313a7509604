// Measures weighted mixtures of data sets.
#pragma once

#include <memory>

#include "lib/runner/core/job_mode.h"
#include "lib/runner/mixture/mixture_inputs.h"

namespace feedrate {

// Jobs of mode `mixture`.
std::shared_ptr<JobMode> MakeMixtureMode(const MixtureWorkOptions& options);

}  // namespace feedrate
