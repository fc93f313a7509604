// Flags that override fields of a run config, the same in `plan` and in every
// runner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"

namespace feedrate {

// The values given on the command line. Absent means that the config's value
// holds. Lists are split at commas. Values are not checked here.
struct Overrides {
  absl::optional<int64_t> num_items;
  absl::optional<int32_t> num_runs;
  absl::optional<std::string> device;
  absl::optional<int32_t> workers;
  absl::optional<int32_t> batch_size;
  absl::optional<std::vector<std::string>> libraries;
  absl::optional<std::vector<std::string>> transforms;
  absl::optional<std::string> transform_set;
  absl::optional<std::string> scope;
  absl::optional<double> min_time;
  absl::optional<std::string> thread_policy;
  absl::optional<std::string> params_profile;
  absl::optional<std::string> env_set;
  absl::optional<std::vector<std::string>> subjects;
  absl::optional<std::string> python;
  absl::optional<std::string> reference;
  absl::optional<std::string> dataset;
  absl::optional<double> sample_ratio;
  absl::optional<std::string> sweep;
  absl::optional<int64_t> seed;
  absl::optional<std::string> label;
  absl::optional<std::string> note;
  absl::optional<std::string> output;
  // Of `plan` only.
  absl::optional<std::string> machine_type;
};

// Add this to ToolInfo::flag_files in a program that takes the overrides.
inline constexpr char kOverrideFlagsFile[] = "lib/base/tool/override_flags.cc";

// Returns the flags that were set on the command line. REQUIRES: flags are
// parsed.
Overrides OverridesFromFlags();

}  // namespace feedrate
