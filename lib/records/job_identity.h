// The identity of a job: its id, the fields that it shares with its rows, and
// the names of its result files.
#pragma once

#include <string>

#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// The identity as canonical JSON: keys sorted, no spaces, fields at their
// default (zero, empty) left out, so that a new field does not change existing
// ids.
std::string CanonicalIdentity(const Job& job);

// The first 16 hexadecimal digits of the SHA-256 of CanonicalIdentity. Does not
// depend on `job_id` itself, run indexes, cost, labels or the machine.
std::string JobId(const Job& job);

// A row with all fields that it shares with its job. Of `dataset` only the id
// is set.
Row RowOfJob(const Job& job);

// The job that a row came from, to run it again. Without run indexes, and
// without labels that were set because of how a run went.
Job JobOfRow(const Row& row);

// The file for a job's rows, relative to the output folder:
//   image-rgb/micro/kornia_micro_results.jsonl
//   image-rgb/pipeline/kornia_memory_dataloader_augment_n10000_r1_w8_b256
//       _dev-cuda_results.jsonl                    (one name, wrapped here)
// `num_runs` comes from the config. As in the public benchmark, a device other
// than the CPU is named and `nall` stands for the whole data set. Never leads
// out of the folder, whatever the job's words are. No other code makes these
// names.
std::string ResultFileName(const Job& job, int num_runs);

// Files that runners and `plan` write next to the results.
inline constexpr char kResolvedConfigName[] = "resolved_config.textproto";
inline constexpr char kBatchTimesName[] = "batch_times.jsonl";
inline constexpr char kJobsName[] = "jobs.jsonl";

}  // namespace feedrate
