// Where the time of a training step goes.
#ifndef FEEDRATE_LIB_MODEL_TORCH_PHASE_CLOCK_H_
#define FEEDRATE_LIB_MODEL_TORCH_PHASE_CLOCK_H_

#include <array>
#include <memory>
#include <vector>

namespace feedrate {

enum Phase {
  kDataWait,
  kCopy,
  kMixing,
  kForward,
  kLoss,
  kBackward,
  kGradSync,
  kOptimizer,
  kOther,
  // Work of a CUDA graph, inside which nothing is told apart.
  kUnattributed,
  kPhases,
};

// Names as in the `budget` of a row, without `_s`.
const char* PhaseName(int phase);

struct StepTimes {
  std::array<double, kPhases> phase_s = {};
  double step_s = 0;
};

// Splits a step at marks. Time from the step's start, or the last mark, to a
// mark belongs to the mark's phase. Not thread-safe.
class PhaseClock {
 public:
  virtual ~PhaseClock() = default;

  virtual void StartStep() = 0;
  virtual void Mark(Phase phase) = 0;
  virtual void EndStep() = 0;
  // Steps since the last call. May wait for the device.
  virtual std::vector<StepTimes> Take() = 0;
};

// By the monotonic clock: for devices that have done an operation when its call
// returns.
std::unique_ptr<PhaseClock> MakeWallPhaseClock();

// Seconds of the monotonic clock.
double MonotonicSeconds();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_TORCH_PHASE_CLOCK_H_
