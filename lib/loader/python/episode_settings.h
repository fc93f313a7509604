// What the settings of feedrate_open stand for that describe episodes, and what
// Python must know of them.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/loader/episodes/episode_set.h"
#include "lib/loader/options.h"
#include "lib/loader/python/settings.h"

namespace feedrate {

// Opens the data sets. `options` are those of SharedOptionsOf.
absl::StatusOr<std::unique_ptr<EpisodeSet>> OpenEpisodes(
    Settings* settings, const LoaderOptions& options);

// The data sets, the fields of a batch, and what needs memory, as JSON.
std::string DescribeEpisodes(const EpisodeSet& set,
                             const LoaderOptions& options);

}  // namespace feedrate
