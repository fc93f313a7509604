// What the parts of resolving share. Internal to lib/planning.
#ifndef FEEDRATE_LIB_PLANNING_RESOLVE_CONTEXT_H_
#define FEEDRATE_LIB_PLANNING_RESOLVE_CONTEXT_H_

#include "absl/status/status.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/field_checker.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

struct ResolveContext {
  const Catalogue& catalogue;
  const FieldChecker& check;
  // Set by ResolveScenarioAndMode.
  const Scenario* scenario = nullptr;
  const ModePolicy* mode = nullptr;
};

// Each fills in and checks a part of `config`; they run in this order.
absl::Status ResolveScenarioAndMode(const RunConfig& config,
                                    ResolveContext* context);
absl::Status ResolveTransforms(const ResolveContext& context,
                               RunConfig* config);
// The fields that a sweep can vary. Looks at nothing else.
absl::Status ResolveVaried(const ResolveContext& context,
                           const FieldChecker& check, RunConfig* config);
absl::Status ResolveExecution(const ResolveContext& context, RunConfig* config);
// Needs device and scope.
absl::Status ResolveLibraries(const ResolveContext& context, RunConfig* config);
absl::Status CheckSweep(const ResolveContext& context, const RunConfig& config);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_RESOLVE_CONTEXT_H_
