// Run configs from their files with the caller's overrides, and sweeps as they
// are typed.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/overrides.h"
#include "lib/config/places.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

// The axes of `text`. Spaces around names and values are dropped. Says what
// is wrong, without a place, when an axis has no name or no value.
absl::StatusOr<std::vector<SweepAxis>> ParseSweep(absl::string_view text);

// A run config from its file, with the caller's overrides.

// What people typed, and where. Nothing but the syntax is checked.
struct LoadedConfig {
  std::string path;
  RunConfig config;
  Places places{""};
};

// Where a config or a folder of configs is: `path`, or, if nothing is there and
// it starts with configs/, the same below FindConfigsFolder("", ""). So
// `--config=configs/demo.textproto` works in any folder.
std::string FindConfig(const std::string& path);

// Reads FindConfig(`path`) and lays `overrides` over it.
absl::StatusOr<LoadedConfig> LoadConfig(const std::string& path,
                                        const Overrides& overrides);

// Lays `overrides` over `loaded`. The error names the flag whose value does not
// parse.
absl::Status ApplyOverrides(const Overrides& overrides, LoadedConfig* loaded);

// The folder with matrix.textproto: `flag` when given, else
// $FEEDRATE_CONFIGS, else the nearest one at or above `config_path`, else
// `../configs` or `configs` beside the program, else `configs` here.
// NotFound says where it looked.
absl::StatusOr<std::string> FindConfigsFolder(const std::string& flag,
                                              const std::string& config_path);

}  // namespace feedrate
