// A run of a mixture with its batches, and which data sets stall it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

struct MixtureRun {
  std::string job_id;
  int run_index = 0;
  std::string run_id;
  // Absent if there are only batches.
  absl::optional<Row> row;
  // In the order of the row's shares; without a row, by decreasing number of
  // samples.
  std::vector<std::string> datasets;
  // One per entry of `datasets`. Empty if unknown.
  std::vector<double> weight_shares;
  // Sorted by index, without duplicates.
  std::vector<Batch> batches;
  // counts[b][d] is the number of samples of data set d in batch b.
  std::vector<std::vector<int64_t>> counts;
  // Number of batches at the start that are not measured.
  size_t warmup = 0;
  // Its name in reports: the library, the settings in which the runs differ,
  // and always metadata and block length.
  std::string name;

  // A setting of its row. Empty if the row does not have it.
  std::string Setting(const std::string& name) const;
  // Number of samples of each data set in the measured batches.
  std::vector<int64_t> MeasuredSamples() const;
};

// The runs that have batches, sorted by job, run index and run. If a batch is
// there twice because the run was repeated, the last one counts.
std::vector<MixtureRun> MixtureRunsOf(const std::vector<Row>& rows,
                                      const std::vector<Batch>& batches);

// The first run of each job.
std::vector<MixtureRun> FirstRuns(std::vector<MixtureRun> runs);

// How long the consumer waits for a data set, and how often it is absent. All
// numbers are of the measured batches.
struct DatasetStalls {
  std::string dataset;
  // Absent if the weights are unknown.
  absl::optional<double> weight_share;
  double sample_share = 0;
  // Number of batches that it dominated (it had the most samples), and how long
  // the consumer waited for them.
  int64_t dominated = 0;
  double stall_s = 0;
  // Median of those waits. 0 if it dominated none.
  double typical_stall_s = 0;
  // Wait above the typical wait in batches that it slowed: those in which it
  // came back slowly, and of the others those it dominated. A data set that
  // dominates often but costs no more than others causes none.
  double excess_s = 0;
  // Largest number of consecutive batches without a sample of it.
  int64_t longest_gap = 0;
  // Number of times it came back after a large gap, which is at least
  // kLargeGapFactor times its mean gap and kLargeGapBatches long; and the
  // median wait for the batches it came back in.
  int64_t returns = 0;
  double return_wait_s = 0;
  // It came back often enough to tell, and the consumer waited for it then.
  bool returns_slowly = false;
};

inline constexpr double kLargeGapFactor = 3;
inline constexpr int64_t kLargeGapBatches = 5;
// Fewer returns than this are not significant. Neither are waits shorter than
// this multiple of the typical wait.
inline constexpr int64_t kFewReturns = 3;
inline constexpr double kSlowReturn = 2;

struct MixtureStalls {
  // Sorted by decreasing excess_s, then stall_s, then name.
  std::vector<DatasetStalls> datasets;
  // Median wait over all batches.
  double typical_wait_s = 0;
  double total_wait_s = 0;
  // Sum of the data sets' excess, and the part of it in slow returns.
  double total_excess_s = 0;
  double return_excess_s = 0;
  // Share of waiting in the time from the end of the warm-up to the last batch.
  // 0 if unknown.
  double wait_share = 0;
};

MixtureStalls StallsOf(const MixtureRun& run);

}  // namespace feedrate
