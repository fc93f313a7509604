// What is measured, as the measuring sees it.
#ifndef FEEDRATE_LIB_MEASURE_SUBJECT_H_
#define FEEDRATE_LIB_MEASURE_SUBJECT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/machine/process_counters.h"

namespace feedrate {

// One stretch of timed calls.
struct TimeRequest {
  // Items first … first+count-1, modulo their number.
  int64_t first = 0;
  int64_t count = 0;
  // Calls that one sample covers.
  int64_t chunk = 1;
  // No new chunk starts after this many seconds. 0: no limit.
  double limit_s = 0;
  uint64_t seed = 0;
  // On a GPU: its L2 is filled with other data before each sample.
  bool cold = false;
  // Without an answer after this many seconds it counts as hanging.
  double hang_s = 0;
};

// What a GPU tells beside the times.
struct GpuTiming {
  // Clock of its processors after each sample; empty where it is not known.
  std::vector<int64_t> clocks_mhz;
  // What they may run at, 0: not known.
  int64_t max_clock_mhz = 0;
  // NVML's bits, of all samples together.
  uint64_t throttle_reasons = 0;
  int64_t peak_allocated_bytes = 0;
  int64_t peak_reserved_bytes = 0;
  // Of all items together.
  int64_t bytes_in = 0;
  int64_t bytes_out = 0;
  // Frames of clips that the CPU decoded in place of an engine.
  int64_t cpu_frames = 0;
};

struct Timing {
  // In order, one a chunk; the last chunk may be shorter.
  std::vector<double> samples_s;
  // Items that the calls went through.
  int64_t items = 0;
  // Absent on the CPU.
  std::optional<GpuTiming> gpu;
};

// Sum of the samples: wall time of the calls and of nothing else.
double ElapsedOf(const Timing& timing);

// What disturbs a timing, counted from some start on.
struct NoiseCounters {
  ProcessCounters process;
  ProcessorCounters processors;
  // Absent where the machine does not tell.
  std::optional<int64_t> cycles;
  // Periods in which a quota stopped this process's group.
  int64_t throttled_periods = 0;
  // Wall clock.
  double now_s = 0;
};

// A transform that is ready to run, in a process that may die of it. Tests have
// one whose time is made up.
class Subject {
 public:
  virtual ~Subject() = default;
  // Fails as lib/worker's MeasuredChild does.
  virtual absl::StatusOr<Timing> Time(const TimeRequest& request) = 0;
  virtual NoiseCounters Count() = 0;
  // What two readings of its clock cost.
  virtual double clock_pair_s() const = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEASURE_SUBJECT_H_
