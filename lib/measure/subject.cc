#include "lib/measure/subject.h"

#include <numeric>

namespace feedrate {

double ElapsedOf(const Timing& timing) {
  return std::accumulate(timing.samples_s.begin(), timing.samples_s.end(), 0.0);
}

}  // namespace feedrate
