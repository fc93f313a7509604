// Replacing a stored baseline, carefully.
#ifndef FEEDRATE_LIB_GATE_UPDATE_BASELINE_H_
#define FEEDRATE_LIB_GATE_UPDATE_BASELINE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// The checkout that a change of baselines is judged by.
struct Checkout {
  std::string branch;
  Git git;
};

// Of the checkout that `folder`, or the nearest folder above it that exists,
// lies in. Everything is empty where there is none.
Checkout ReadCheckout(const std::string& folder);

// OK on branch main of a clean checkout, or with a reason. FailedPrecondition
// says what is in the way.
absl::Status MayUpdate(const Checkout& checkout,
                       const std::string& maintainer_reason);

struct NewBaseline {
  std::string machine_profile;
  // Such as "metrics.json".
  std::string kind;
  std::string content;
};

// Writes each baseline in one step. What it replaces is kept under
// `FOLDER/history/`, and a line is added to `<profile>.updates.jsonl`. Returns
// those lines. REQUIRES: MayUpdate.
absl::StatusOr<std::vector<BaselineUpdate>> UpdateBaselines(
    const std::string& folder, const std::vector<NewBaseline>& baselines,
    const Checkout& checkout, const std::string& maintainer_reason,
    absl::Time now);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_UPDATE_BASELINE_H_
