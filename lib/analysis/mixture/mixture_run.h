// One run of a mixture, put together from its row and its batches.
#ifndef FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_RUN_H_
#define FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct MixtureRun {
  std::string job_id;
  int run_index = 0;
  std::string run_id;
  // Absent: only the batches are there.
  absl::optional<Row> row;
  // In the order of the row's shares; without a row by falling samples.
  std::vector<std::string> datasets;
  // One for each of `datasets`. Empty: not known.
  std::vector<double> weight_shares;
  // By rising index, none twice.
  std::vector<Batch> batches;
  // Samples of batch b of data set d: counts[b][d].
  std::vector<std::vector<int64_t>> counts;
  // Batches at the start that are not measured.
  size_t warmup = 0;
  // What it is called on a page: the library, the settings in which the runs
  // differ, and metadata and block length in any case.
  std::string name;

  // A setting of its row. Empty: the row does not have it.
  std::string Setting(const std::string& name) const;
  // Samples of each data set in the measured batches.
  std::vector<int64_t> MeasuredSamples() const;
};

// Runs that have batches, sorted by job, run index and run. Of a batch that is
// there twice, because the run was tried again, the last one counts.
std::vector<MixtureRun> MixtureRunsOf(const std::vector<Row>& rows,
                                      const std::vector<Batch>& batches);

// The first run of each job.
std::vector<MixtureRun> FirstRuns(std::vector<MixtureRun> runs);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_RUN_H_
