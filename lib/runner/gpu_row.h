// What a row says about its GPU, beside its times.
#ifndef FEEDRATE_LIB_RUNNER_GPU_ROW_H_
#define FEEDRATE_LIB_RUNNER_GPU_ROW_H_

#include "lib/measure/subject.h"
#include "lib/records/records.pb.h"
#include "lib/runner/gpu_settings.h"

namespace feedrate {

struct GpuRowInput {
  GpuSettings settings;
  // Share of the highest clock below which a sample is marked.
  double slow_clock = 0.75;
  double copy_bytes_per_s = 0;
  // Whether the warm-up ended stable.
  bool warm = false;
  // Whether the transform need not read all of its input.
  bool partial = false;
  // Whether the worker takes the items of a batch one by one; a label.
  bool per_sample_loop = false;
};

// Fills in clocks, memory, the warning `throttled` where a sample was slow, and
// the limit: bytes that must move over what a copy moves. `row` has its timing.
void SetGpu(const GpuRowInput& input, const Timing& timing, Row* row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_GPU_ROW_H_
