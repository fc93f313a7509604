// What a machine should reach, judged by other machines and by reference
// workloads that all of them ran.
//
// Model: the logarithm of a job's speed on a machine is a constant of the job,
// plus the logarithms of the machine's reference speeds times the job's
// weights, plus what is unexplained. The weights are those of a job that spends
// its time in these workloads: they add up to 1, and nothing else is known
// about them unless several machines tell. So the prediction is as uncertain as
// the reference workloads disagree about the two machines.
#pragma once

#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace feedrate {

// The logarithm of a speed, and its standard error.
struct LogSpeed {
  double log = 0;
  double error = 0;
};

// The logarithm of each run's speed, averaged. The error is that of the mean,
// and with one run that of `single_error`. REQUIRES: `speeds` is not empty and
// above 0.
LogSpeed LogSpeedOf(absl::Span<const double> speeds, double single_error);

// A job on one machine that has a baseline.
struct KnownSpeed {
  // Speeds of the reference workloads, in the same order on all machines.
  std::vector<LogSpeed> references;
  LogSpeed job;
};

// The speed of a job on a machine with the speeds `references`. The error
// includes that of the reference workloads and of the baselines, the unknown
// weights, and `unexplained`: the standard deviation of what a machine does to
// a job that no reference workload shows. REQUIRES: `known` is not empty, and
// all have as many references, at least one.
LogSpeed PredictSpeed(absl::Span<const KnownSpeed> known,
                      absl::Span<const LogSpeed> references,
                      double unexplained);

// The unexplained deviation if a suite is too small to tell.
inline constexpr double kUnexplained = 0.05;
// Jobs from which on a suite tells.
inline constexpr int kScalableJobs = 10;

// A job that ran on the new machine.
struct ScaledJob {
  LogSpeed predicted;
  LogSpeed measured;
  // Set by ScaleSuite: measured minus predicted, without the common shift; its
  // standard error; and how far below 0 it can be by chance.
  double shift = 0;
  double error = 0;
  double limit = 0;
};

// Sets shift, error and limit of each job. `level` is the probability of a
// shift beyond the limit in any job of an unchanged suite.
//
// Returns the common shift: the median of all shifts, in a suite of at least
// kScalableJobs. It may be the machine or the code. There the scatter of the
// shifts also replaces the assumed error, and the limit is at least 3 times the
// largest shift towards faster, in units of the errors: machines do odd things
// to single jobs in both directions, while a regression goes in one. Absent in
// a smaller suite.
absl::optional<double> ScaleSuite(double level, std::vector<ScaledJob>* jobs);

}  // namespace feedrate
