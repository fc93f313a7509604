// Which data sets the consumer waits for, and how often they stay away.
#ifndef FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_STALLS_H_
#define FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_STALLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/mixture/mixture_run.h"

namespace feedrate {

// Of the measured batches, as everything here.
struct DatasetStalls {
  std::string dataset;
  // Absent: the weights are not known.
  absl::optional<double> weight_share;
  double sample_share = 0;
  // Batches of which it had the most samples, and what the consumer waited for
  // them.
  int64_t dominated = 0;
  double stall_s = 0;
  // Median of those waits. 0: it dominated none.
  double typical_stall_s = 0;
  // What was waited above the typical in batches that it slowed: those in which
  // it came back slowly, and of the others those it dominated. A data set that
  // dominates often and costs no more than others causes none.
  double excess_s = 0;
  // Most batches in a row without a sample of it.
  int64_t longest_gap = 0;
  // Gaps at least kLargeGapFactor times its mean gap and kLargeGapBatches long,
  // after which it came back; and the median wait for the batches it came back
  // in.
  int64_t returns = 0;
  double return_wait_s = 0;
  // It came back often enough to tell, and was waited for then.
  bool returns_slowly = false;
};

inline constexpr double kLargeGapFactor = 3;
inline constexpr int64_t kLargeGapBatches = 5;
// Fewer returns say nothing; waits below so many typical ones neither.
inline constexpr int64_t kFewReturns = 3;
inline constexpr double kSlowReturn = 2;

struct MixtureStalls {
  // By falling excess_s, then stall_s, then name.
  std::vector<DatasetStalls> datasets;
  // Median over all batches.
  double typical_wait_s = 0;
  double total_wait_s = 0;
  // Sum of the data sets' excess, and what of it lies in slow returns.
  double total_excess_s = 0;
  double return_excess_s = 0;
  // Of the time from the end of the warm-up to the last batch. 0 where that is
  // not known.
  double wait_share = 0;
};

MixtureStalls StallsOf(const MixtureRun& run);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_STALLS_H_
