// Audits a loader: runs epochs that time nothing, by what the items show.
#pragma once

#include "absl/status/statusor.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/loader/loader_job.h"
#include "lib/runner/loader/loader_work.h"

namespace feedrate {

// Audits the loader of `job`, whose items must show their ids
// (lib/media/item_ids.h), with the resumes and the soak of `options`. What the
// loader does wrong is part of the audit; fails only if the run is to end
// (Cancelled).
absl::StatusOr<Audit> AuditLoader(const RunContext& context, const Job& job,
                                  const JobPolicy& policy,
                                  const LoaderInputs::Input& input,
                                  const LoaderWorkOptions& options);

}  // namespace feedrate
