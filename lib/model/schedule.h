// How the learning rate of a training changes from step to step. Standard
// library only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

// The choices of `LearningRateSchedule::kind`.
std::vector<std::string> ScheduleKinds();

struct LearningRateSchedule {
  // After the warm-up: `constant`, or from `rate` down to `least`, `linear`ly
  // or by half a `cosine`.
  std::string kind = "constant";
  double rate = 1e-3;
  double least = 0;
  // Steps in which the rate rises linearly to `rate`, the first of which
  // already learns.
  int64_t warmup = 0;
  // The first step whose rate is `least`: the number of all steps, warm-up
  // included. Not used if `constant`.
  int64_t steps = 0;
};

// The rate of a step, counted from 0 over the whole training. The same as those
// of torch's LinearLR and CosineAnnealingLR in a row.
double LearningRateAt(const LearningRateSchedule& schedule, int64_t step);

}  // namespace feedrate
