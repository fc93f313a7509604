// The points of a sweep, one after the other.
#ifndef FEEDRATE_LIB_PLANNING_VARIANTS_H_
#define FEEDRATE_LIB_PLANNING_VARIANTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/config/run_config.pb.h"

namespace feedrate {

// One point: single-valued fields of the config, and the settings that the
// axes without a field stand for.
struct Variant {
  // Without libraries, transforms and sweep, which do not vary.
  RunConfig config;
  std::map<std::string, std::string> settings;
};

// Goes through the product of all axes, the last one fastest. Holds one point
// at a time, however many there are. A config without a sweep has one.
class Variants {
 public:
  // REQUIRES: `resolved` comes from Resolve and outlives this.
  explicit Variants(const RunConfig& resolved);

  // The next point, or false when there is none.
  bool Next(Variant* variant);

 private:
  const RunConfig& resolved_;
  RunConfig base_;
  std::map<std::string, std::string> base_settings_;
  std::vector<int> at_;  // The index of each axis' value.
  bool done_ = false;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_VARIANTS_H_
