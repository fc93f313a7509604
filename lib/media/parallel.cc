#include "lib/media/parallel.h"

#include <sched.h>

namespace feedrate {

int UsableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  // More than 1,024 processors: too many for the set.
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace feedrate
