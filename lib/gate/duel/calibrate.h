// Calibration: which slowdowns a machine can detect, by duels of a command
// against itself and against a slowed-down copy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/gate/duel/duel.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

struct CalibrationOptions {
  // `a` is the command. Calibrate sets `b`, `slow_b_percent`, `seed` and
  // `write`.
  DuelOptions duel;
  // Number of duels per slowdown, and without one.
  int duels = 10;
  std::vector<double> slowdowns_percent = {1, 2, 3, 5, 10};
  // RFC 3339, for the records.
  std::string calibrated_at;
};

struct CalibrationResult {
  ExitCode exit_code = ExitCode::kDone;
  // One per job.
  std::vector<Calibration> calibrations;
  std::string failure;
};

// Runs `duels` duels of the command against itself, and as many against each
// slowdown. FailedPrecondition when a program that prints rows does not slow
// down when asked, because its figures would mean nothing.
absl::StatusOr<CalibrationResult> Calibrate(const CalibrationOptions& options);

// Adds the verdicts of one duel with `slowdown_percent` (0 for none) to the
// calibrations of their jobs.
void AddVerdicts(const std::vector<Verdict>& verdicts, double slowdown_percent,
                 std::vector<Calibration>* calibrations);

// Sets the floor: the smallest slowdown that, like all larger ones, was
// detected in nine of ten duels.
void SetFloor(Calibration* calibration);

// A table for people.
std::string CalibrationText(const std::vector<Calibration>& calibrations);

}  // namespace feedrate
