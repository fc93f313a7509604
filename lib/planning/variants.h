// The settings of mixture jobs, and the points of a sweep.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

class FieldChecker;

// The part of a run config that mode `mixture` has of its own.

// A row of fewer batches is labeled `indicative`.
inline constexpr int kMixtureSteps = 160;
inline constexpr int kMixtureWarmup = 8;

// Fills in the defaults and checks what is there; in modes other than `mixture`
// there must be nothing.
absl::Status ResolveMixture(const FieldChecker& check, absl::string_view mode,
                            int default_frame_size, RunConfig* config);

// Settings of a job for it, all of them: what a mixture does when a field is
// left out is part of the work, and of its id.
std::map<std::string, std::string> MixtureSettings(const MixtureConfig& config);

// The points of a sweep, one after the other.

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
