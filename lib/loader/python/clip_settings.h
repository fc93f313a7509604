// What the settings of feedrate_open stand for that describe clips.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/loader/clips/clip_set.h"
#include "lib/loader/options.h"
#include "lib/loader/python/settings.h"

namespace feedrate {

// Opens the videos; `options` are those of OptionsOf, and get what else the
// settings say. `labeled` has the labels of the videos then, and no source. For
// a GPU, -1 being the CPU, `memory` becomes that of batches there.
absl::StatusOr<std::unique_ptr<ClipSet>> OpenClips(
    Settings* settings, const std::vector<std::string>& files, int gpu,
    LoaderOptions* options, LabeledSource* labeled,
    std::unique_ptr<BatchMemory>* memory);

// What feedrate_about says of clips on the CPU: opens all videos.
absl::StatusOr<std::string> DescribeClips(const ClipSet& set,
                                          const LoaderOptions& options);

}  // namespace feedrate
