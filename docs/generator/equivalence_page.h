// The page that says which libraries do the same work.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// What `micro --verify --format=jsonl` wrote to `path`. InvalidArgument when a
// line is broken.
absl::StatusOr<std::vector<Verification>> ReadVerifications(
    const std::string& path);

// docs/equivalence.md: a table for each scenario and profile, with what is
// different and why. Reasons are the measured ones, and the notes that the
// catalogue has on libraries and transforms.
absl::StatusOr<std::string> EquivalencePage(
    const Catalogue& catalogue, const std::vector<Verification>& verifications);

}  // namespace feedrate
