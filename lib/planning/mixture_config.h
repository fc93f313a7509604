// The part of a run config that mode `mixture` has of its own.
#ifndef FEEDRATE_LIB_PLANNING_MIXTURE_CONFIG_H_
#define FEEDRATE_LIB_PLANNING_MIXTURE_CONFIG_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/resolve_context.h"

namespace feedrate {

// Batches from which on a row is no mere indication.
inline constexpr int kMixtureSteps = 160;
inline constexpr int kMixtureWarmup = 8;

// Fills in the defaults and checks what is there; in other modes there must be
// nothing.
absl::Status ResolveMixture(const ResolveContext& context, RunConfig* config);

// Settings of a job for it, all of them: what a mixture does when a field is
// left out is part of the work, and of its id.
std::map<std::string, std::string> MixtureSettings(const MixtureConfig& config);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_MIXTURE_CONFIG_H_
