// Holds the outputs of calls that nobody trusts against a reference.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/micro/distrusted_calls.h"
#include "lib/worker/server.h"

namespace feedrate {

class Catalogue;
struct RunContext;

// The setting of jobs that are measured without trust.
inline constexpr char kDistrust[] = "distrust";
// Whether the job has it and runs code of a user.
bool IsDistrusted(const Job& job);

// A library or another subject, with its process.
struct TrustedReference {
  Job job;
  LibraryServer* server = nullptr;
};

// Compares each output with that of `reference` for the same input and seed, or
// without one with the catalog's reference of the transform. FailedPrecondition
// if one of them differs, or if none could be compared; the message says why.
absl::StatusOr<Equivalence> CheckKept(const RunContext& context, const Job& job,
                                      const std::vector<KeptCall>& kept,
                                      const TrustedReference* reference,
                                      absl::Duration limit);

}  // namespace feedrate
