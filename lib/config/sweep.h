// Sweeps as they are typed: "workers=0,2,4;batch_size=64,256".
#ifndef FEEDRATE_LIB_CONFIG_SWEEP_H_
#define FEEDRATE_LIB_CONFIG_SWEEP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

// The axes of `text`. Spaces around names and values are dropped. Says what
// is wrong, without a place, when an axis has no name or no value.
absl::StatusOr<std::vector<SweepAxis>> ParseSweep(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CONFIG_SWEEP_H_
