#include "lib/model/schedule.h"

#include <cmath>

namespace feedrate {
namespace {

constexpr double kPi = 3.14159265358979323846;

}  // namespace

std::vector<std::string> ScheduleKinds() {
  return {"constant", "linear", "cosine"};
}

double LearningRateAt(const LearningRateSchedule& schedule, int64_t step) {
  if (step < schedule.warmup) {
    return schedule.rate * static_cast<double>(step + 1) /
           static_cast<double>(schedule.warmup);
  }
  if (schedule.kind == "constant") return schedule.rate;
  const int64_t falling = schedule.steps - schedule.warmup;
  if (step >= schedule.steps || falling <= 0) return schedule.least;
  const double done = static_cast<double>(step - schedule.warmup) /
                      static_cast<double>(falling);
  const double left =
      schedule.kind == "linear" ? 1 - done : (1 + std::cos(kPi * done)) / 2;
  return schedule.least + (schedule.rate - schedule.least) * left;
}

}  // namespace feedrate
