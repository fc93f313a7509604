// What tables show for a transform that was too slow to measure.
#ifndef FEEDRATE_LIB_ANALYSIS_SLOW_MARKER_H_
#define FEEDRATE_LIB_ANALYSIS_SLOW_MARKER_H_

#include <string>

#include "absl/types/optional.h"
#include "lib/catalogue/catalogue.h"

namespace feedrate {

// The policy's marker, such as `<=20 img/s`. Reads the catalogue when it is
// first asked, since most tables need none of it. Not thread-safe.
class SlowMarkers {
 public:
  // `configs_folder`: as --configs; empty: found.
  explicit SlowMarkers(std::string configs_folder)
      : configs_folder_(std::move(configs_folder)) {}

  // By the media of the scenario, else by the unit of its rows. `slow` when
  // neither is known or there is no policy to be found.
  std::string For(const std::string& scenario, const std::string& unit);

 private:
  const std::string configs_folder_;
  bool tried_ = false;
  absl::optional<Catalogue> catalogue_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_SLOW_MARKER_H_
