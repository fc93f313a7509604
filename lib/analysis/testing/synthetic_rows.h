// Plausible rows without running anything, for tests of code that reads rows.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

struct SyntheticRowOptions {
  // Seed of the random numbers.
  uint64_t seed = 1;
  // Standard deviation of log throughput over the runs of a job.
  double noise = 0.02;
  // Fraction of jobs that stop early.
  double early_stopped = 0.02;
  // Samples per row; more samples make a row longer.
  int samples = 3;
};

// Makes rows of two machines, one of them with a GPU, and one run on each. Rows
// depend only on the options and the job, so they can be made in any order.
//
// The numbers are plausible: below what the machine can copy, lower for clips
// than for images, no two equal, and the same speed for all runs of a job
// except for noise.
class SyntheticRows {
 public:
  explicit SyntheticRows(const SyntheticRowOptions& options)
      : options_(options) {}

  std::vector<Env> Envs() const;
  std::vector<Run> Runs() const;

  // Status is `ok`, `early_stopped`, or `unsupported` if the job says so.
  Row MakeRow(const Job& job, int32_t run_index) const;
  // The rows of all run indexes of the job.
  std::vector<Row> MakeRows(const Job& job) const;

 private:
  void Measure(const Job& job, Row* row) const;

  const SyntheticRowOptions options_;
};

}  // namespace feedrate
