// What this machine can show: A against A, and against slowdowns on purpose.
#ifndef FEEDRATE_LIB_GATE_CALIBRATE_H_
#define FEEDRATE_LIB_GATE_CALIBRATE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/gate/duel.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct CalibrationOptions {
  // `a` is the command; `b`, `slow_b_percent`, `seed` and `write` are set here.
  DuelOptions duel;
  // Duels of each kind.
  int duels = 10;
  std::vector<double> slowdowns_percent = {1, 2, 3, 5, 10};
  // RFC 3339; goes into the records.
  std::string calibrated_at;
};

struct CalibrationResult {
  ExitCode exit_code = ExitCode::kDone;
  // One a job.
  std::vector<Calibration> calibrations;
  std::string failure;
};

// Runs `duels` duels of the command against itself and as many against each
// slowdown. FailedPrecondition when a program that prints rows does not slow
// down when asked: its figures would say nothing.
absl::StatusOr<CalibrationResult> Calibrate(const CalibrationOptions& options);

// Adds the verdicts of one duel with `slowdown_percent` (0: clean) to the
// calibrations of their jobs.
void AddVerdicts(const std::vector<Verdict>& verdicts, double slowdown_percent,
                 std::vector<Calibration>* calibrations);

// Sets the floor from the points: the smallest slowdown that was found, as were
// all larger ones, in nine of ten duels.
void SetFloor(Calibration* calibration);

// A table for people.
std::string CalibrationText(const std::vector<Calibration>& calibrations);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_CALIBRATE_H_
