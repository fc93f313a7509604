// Checks rows against planned jobs: what is missing, wrong, or too good to be
// true.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "lib/analysis/coverage/findings.h"
#include "lib/analysis/coverage/measured_runs.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {

// Whether a machine profile, such as `h200x1_driver580_cuda13.0_sm90`, is that
// of a machine with a GPU: it then names a compute capability.
bool IsGpuProfile(absl::string_view machine_profile);

// Bytes that any implementation must move for one item of this row, or 0 if no
// safe bound is known. It is a lower bound, so that no correct row is reported:
// - a loader on the CPU writes a crop of every frame, at least one byte per
// value;
// - a single image transform moves the image once, which is larger than its
// file;
//   for raw data it is the file. Nine channels are three times the file;
// - 0 for clips, which take a few frames out of files of any length, for
//   transforms that crop, which touch only a part, and for GPUs, which are not
//   bound by the CPU's copy speed.
float LeastItemBytes(const Row& row, const Catalogue& catalogue);

// Number of threads that a row of the job may use on its machine; 0 if unknown.
int ThreadsOf(const Job& job, const MachineFacts* machine,
              const Catalogue& catalogue);

// What is wrong with the run's machine, or "" if it fits the job. Uses the
// `env` record if there is one, else the machine profile, else the row's own
// hardware class. Clips of a library that the matrix puts on the host's CPU may
// come from a GPU machine, if the row says `host_cpu`.
std::string HardwareProblem(const Job& job, const RunState& run,
                            const MeasuredRuns& measured,
                            const Catalogue& catalogue);

// Adds every finding about jobs and rows to `findings`, and counts and groups
// to `record`. The order of the rows changes only the places in the findings.
void JudgeCoverage(const PlannedJobs& jobs, const MeasuredRuns& measured,
                   const Catalogue& catalogue, CoverageFindings* findings,
                   Coverage* record);

}  // namespace feedrate
