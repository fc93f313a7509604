// Compares rows with stored baselines of other machines, scaled by reference
// workloads.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/gate/baselines.h"
#include "lib/gate/verdict/rule_verdicts.h"
#include "lib/records/env.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

struct AcrossMachines {
  std::vector<Verdict> verdicts;
  // What cannot be told from here, in words. Empty without a comparison.
  std::string note;
};

// One verdict per job of `rows`, which are all of one machine that has no
// baseline of its own. `references` are the records of that machine. Throughput
// is compared with what the other machines' baselines and the reference speeds
// predict (lib/stats/machine_scaling.h); a breach of the tolerance is `slower`
// only if it is larger than that prediction can be wrong. Without reference
// speeds on both sides the verdicts are `invalid`, `no_reference`.
absl::StatusOr<AcrossMachines> CompareAcrossMachines(
    const std::vector<Row>& rows,
    const std::vector<ReferenceSpeeds>& references, const BaselineStore& store,
    const RuleOptions& options);

}  // namespace feedrate
