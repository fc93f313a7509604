// Names of result files. The only place that makes them.
#ifndef FEEDRATE_LIB_RECORDS_OUTPUT_NAMES_H_
#define FEEDRATE_LIB_RECORDS_OUTPUT_NAMES_H_

#include <string>

#include "lib/records/records.pb.h"

namespace feedrate {

// Where a job's rows go, relative to the output folder:
//   image-rgb/micro/kornia_micro_results.jsonl
//   image-rgb/pipeline/kornia_memory_dataloader_augment_n10000_r1_w8_b256
//       _dev-cuda_results.jsonl                       (one name, here folded)
// `num_runs` is what the config asks for. As in the public benchmark, a
// device other than the CPU is named and `nall` is the whole data set.
std::string ResultFileName(const Job& job, int num_runs);

// What a runner and `plan` write beside the results.
inline constexpr char kResolvedConfigName[] = "resolved_config.textproto";
inline constexpr char kBatchTimesName[] = "batch_times.jsonl";
inline constexpr char kJobsName[] = "jobs.jsonl";

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RECORDS_OUTPUT_NAMES_H_
