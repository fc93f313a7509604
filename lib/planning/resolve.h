// From what people typed to a config that says everything.
#pragma once

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/subjects.h"

namespace feedrate {

// Checks every field and fills in what was left out: defaults of the policy,
// the libraries, the names of the transforms. Resolving the result again
// gives the same. An error is one line: place, field, what is wrong, what
// would be right.
//
// Whether each library has the device and scope is checked by BuildCells,
// because a sweep may vary them. Without `describe`, subjects must list their
// transforms.
absl::StatusOr<RunConfig> Resolve(const LoadedConfig& loaded,
                                  const Catalogue& catalogue,
                                  const SubjectDescriber& describe = nullptr);

}  // namespace feedrate
