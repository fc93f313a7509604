#include "lib/runner/new_run_id.h"

#include <random>
#include <string>

#include "absl/strings/str_format.h"

namespace feedrate {

std::string NewRunId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(),
                         random());
}

}  // namespace feedrate
