// Only whether libraries do the same work, without a timing.
#ifndef FEEDRATE_LIB_RUNNER_VERIFY_H_
#define FEEDRATE_LIB_RUNNER_VERIFY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"
#include "lib/runner/run_context.h"

namespace feedrate {

// Lets each job's library show its outputs. Cancelled when interrupted; what a
// library does wrong is in its verification.
absl::StatusOr<std::vector<Verification>> VerifyJobs(
    const RunContext& context, const std::vector<Job>& jobs,
    const std::function<void(const Job&)>& begins);

// Libraries across, transforms down, in the order of their first, then what is
// not the same work and why.
std::string VerificationTable(const std::vector<Verification>& verifications);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_VERIFY_H_
