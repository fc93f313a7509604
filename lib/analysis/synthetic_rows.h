// Rows that a runner could have written, without running anything. For tests
// of what reads rows.
#ifndef FEEDRATE_LIB_ANALYSIS_SYNTHETIC_ROWS_H_
#define FEEDRATE_LIB_ANALYSIS_SYNTHETIC_ROWS_H_

#include <cstdint>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

struct SyntheticOptions {
  // Other seeds, other numbers.
  uint64_t seed = 1;
  // Standard deviation of log throughput over the runs of a job.
  double noise = 0.02;
  // Share of jobs that stop early.
  double early_stopped = 0.02;
  // Samples a row: more make it longer.
  int samples = 3;
};

// Two machines, one with a GPU, one run on each. What comes out depends on
// the options and the job alone, so rows may be made in any order.
//
// The numbers are plausible: within what the machine copies, slower for clips
// than for images, no two alike, the same speed for all runs of a job but for
// noise.
class SyntheticRows {
 public:
  explicit SyntheticRows(const SyntheticOptions& options) : options_(options) {}

  std::vector<Env> Envs() const;
  std::vector<Run> Runs() const;

  // Status `ok`, `unsupported` where the job says so, or `early_stopped`.
  Row MakeRow(const Job& job, int32_t run_index) const;
  // The rows of all run indexes of the job.
  std::vector<Row> MakeRows(const Job& job) const;

 private:
  void Measure(const Job& job, Row* row) const;

  const SyntheticOptions options_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_SYNTHETIC_ROWS_H_
